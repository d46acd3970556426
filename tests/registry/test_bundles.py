"""MCPB files: what is unpacked, what is refused, and the command that comes out."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.registry.bundles import MANIFEST, packed
from toolcrib.registry.bundle import open_bundle
from toolcrib.registry.recipe import Recipe, Refused


def opened(content: bytes, folder: Path, sha256: str = "") -> Recipe:
    return open_bundle(content, sha256 or hashlib.sha256(content).hexdigest(), folder, "atlas")


def test_a_bundle_is_unpacked_and_its_command_refers_to_nothing_but_what_it_asks_for(tmp_path: Path) -> None:
    folder = tmp_path / "bundles" / "atlas"

    recipe = opened(packed({"manifest.json": MANIFEST, "server/index.js": "serve()"}), folder)

    assert recipe.command == (*("node", f"{folder}/server/index.js", "--folder=${ATLAS_FOLDER}", "${$}{HOME}/x"),)
    assert recipe.env == {"KEY": "${ATLAS_KEY}", "REGION": "${ATLAS_REGION:-eu}"}
    assert {need.variable: need.is_secret for need in recipe.needs if need.is_required} == {
        "ATLAS_FOLDER": False,
        "ATLAS_KEY": True,
    }
    assert (folder / "server" / "index.js").read_text("utf-8") == "serve()"


def test_a_new_bundle_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    opened(packed({"manifest.json": MANIFEST, "old.js": ""}), tmp_path / "atlas")
    opened(packed({"manifest.json": MANIFEST, "new.js": ""}), tmp_path / "atlas")

    assert sorted(path.name for path in (tmp_path / "atlas").iterdir()) == ["manifest.json", "new.js"]


def test_a_program_of_the_bundle_itself_may_be_started(tmp_path: Path) -> None:
    manifest = {"server": {"mcp_config": {"command": "${__dirname}/bin/atlas", "args": []}}}

    recipe = opened(packed({"manifest.json": manifest, "bin/atlas": b"\x7fELF"}), tmp_path / "atlas")

    assert recipe.command == (str(tmp_path / "atlas" / "bin" / "atlas"),)
    if sys.platform != "win32":
        assert stat.S_IMODE((tmp_path / "atlas" / "bin" / "atlas").stat().st_mode) & 0o077 == 0


def _with_link() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("manifest.json", json.dumps(MANIFEST))
        link = zipfile.ZipInfo("server")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc")
    return buffer.getvalue()


def _starting(command: object, **env: str) -> bytes:
    return packed({"manifest.json": {"server": {"mcp_config": {"command": command, "env": env}}}})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a zip",
        packed({"readme": "no manifest"}),
        packed({"manifest.json": "{"}),
        packed({"manifest.json": "[]"}),
        packed({"manifest.json": MANIFEST, "../evil": ""}),
        packed({"manifest.json": MANIFEST, "/etc/evil": ""}),
        packed({"manifest.json": MANIFEST, "a/../../evil": ""}),
        packed({"manifest.json": MANIFEST, "c:evil": ""}),
        _with_link(),
        _starting("bash"),
        _starting("/bin/sh"),
        _starting("${__dirname}/../../bin/sh"),
        _starting("${__dirname}/missing"),
        _starting(None),
        _starting("node", LD_PRELOAD="x.so"),
    ],
)
def test_a_bundle_that_cannot_be_trusted_is_refused_and_nothing_is_unpacked(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(Refused):
        opened(content, tmp_path / "bundles" / "atlas")

    assert list(tmp_path.iterdir()) == []


def _damaged(compression: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("manifest.json", json.dumps(MANIFEST))
        archive.writestr("DAMAGED", bytes(range(256)) * 20, compression)
    content = bytearray(buffer.getvalue())
    start = content.find(b"DAMAGED") + len(b"DAMAGED")
    content[start : start + 40] = b"\xff" * 40
    return bytes(content)


@pytest.mark.parametrize(
    "content",
    [
        _damaged(zipfile.ZIP_DEFLATED),
        _damaged(zipfile.ZIP_LZMA),
        _damaged(zipfile.ZIP_BZIP2),
        packed({"manifest.json": MANIFEST, "a": "", "a/b": ""}),
        packed({"manifest.json": MANIFEST, "x" * 300: ""}),
        packed({"manifest.json": MANIFEST, "é": ""}).replace("é".encode(), b"\xff\xff"),
    ],
)
def test_a_bundle_that_breaks_while_unpacking_leaves_the_old_one_and_nothing_else(
    content: bytes, tmp_path: Path
) -> None:
    opened(packed({"manifest.json": MANIFEST, "old.js": ""}), tmp_path / "atlas")

    with pytest.raises(Refused, match="unpacked"):
        opened(content, tmp_path / "atlas")

    assert [path.name for path in tmp_path.iterdir()] == ["atlas"]
    assert (tmp_path / "atlas" / "old.js").exists()


def test_another_file_than_the_registry_names_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="SHA-256"):
        opened(packed({"manifest.json": MANIFEST}), tmp_path / "atlas", sha256="0" * 64)


def test_a_bundle_of_too_many_files_is_refused(tmp_path: Path) -> None:
    content = packed({"manifest.json": MANIFEST, "one": "", "two": ""})

    with pytest.raises(Refused, match="more than is allowed"):
        open_bundle(content, hashlib.sha256(content).hexdigest(), tmp_path / "atlas", "atlas", most_files=2)


@given(st.lists(st.tuples(st.integers(1, 400), st.sampled_from([0, 1, 8, 128, 255])), min_size=1, max_size=4))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_list_of_files_says_a_bundle_is_unpacked_or_refused(
    tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    content = bytearray(packed({"manifest.json": MANIFEST, "a": "x", "sub/é": "x", "b": "x", "c": "x"}))
    for from_end, byte in changes:
        content[-from_end] = byte

    with suppress(Refused):
        opened(bytes(content), tmp_path / "atlas")
    assert {path.name for path in tmp_path.iterdir()} <= {"atlas"}

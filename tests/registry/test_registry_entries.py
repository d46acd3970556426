"""Entries of every schema date become the same words, and hostile ones cost only themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.servers.registry import ATLAS, entry
from toolcrib.errors import RegistryError
from toolcrib.registry.entry import RegistryServer
from toolcrib.registry.pages import MAX_ENTRY_BYTES, read_one, read_page
from toolcrib.registry.parse import UnfitEntry, parse_entry
from toolcrib.registry.recipes import plans
from toolcrib.registry.versions import only_newest

BARE = {"name": "io.github.acme/atlas", "description": "Maps", "version": "1.0.0"}
FIRST_SCHEMA = {
    "id": "7d5f",
    "name": "io.github.acme/atlas",
    "description": "Maps",
    "version_detail": {"version": "1.0.0", "release_date": "2025-05-16T18:00:00Z", "is_latest": True},
    "packages": [
        {
            "registry_name": "npm",
            "name": "@acme/atlas",
            "version": "1.0.0",
            "package_arguments": [{"type": "positional", "value": "serve", "is_required": True}],
            "environment_variables": [{"name": "KEY", "is_required": True, "is_secret": True}],
        }
    ],
    "remotes": [{"transport_type": "sse", "url": "https://atlas.example/sse"}],
}
SNAKE_CASE = {
    "server": {
        "name": "io.github.acme/atlas",
        "description": "Maps",
        "status": "deprecated",
        "version": "1.0.0",
        "website_url": "https://atlas.example",
        "packages": [
            {
                "registry_type": "oci",
                "identifier": "acme/atlas",
                "version": "1.0.0",
                "runtime_hint": "docker",
                "runtime_arguments": [{"type": "named", "name": "-e", "value": "KEY={key}"}],
                "file_sha256": "AB",
            }
        ],
    },
    "x-io.modelcontextprotocol.registry": {"id": "1", "published_at": "2025-07-09T00:00:00Z", "is_latest": True},
}


def test_an_entry_of_today_is_read_whole() -> None:
    server = parse_entry(ATLAS, registry="https://registry.example")

    assert (server.name, server.version, server.title) == ("io.github.acme/atlas", "1.2.0", "Atlas")
    assert server.short_name == "atlas"
    assert server.repository == "https://code.example/acme/atlas"
    assert server.is_latest is True
    assert server.registry == "https://registry.example"
    assert [variable.name for variable in server.packages[0].environment] == ["ATLAS_KEY", "ATLAS_REGION"]
    assert server.remotes[0].type == "streamable-http"


def test_a_bare_server_without_meta_counts_as_active() -> None:
    server = parse_entry(BARE)

    assert (server.status, server.is_latest, server.updated_at) == ("active", None, "")


def test_the_first_schema_is_understood() -> None:
    server = parse_entry(FIRST_SCHEMA)

    assert (server.version, server.published_at, server.is_latest) == ("1.0.0", "2025-05-16T18:00:00Z", True)
    assert (server.packages[0].registry_type, server.packages[0].identifier) == ("npm", "@acme/atlas")
    assert server.packages[0].package_arguments[0].input.is_required
    assert server.packages[0].environment[0].is_secret
    assert server.remotes[0].type == "sse"


def test_snake_case_is_understood() -> None:
    server = parse_entry(SNAKE_CASE)

    assert (server.status, server.website) == ("deprecated", "https://atlas.example")
    assert server.published_at == "2025-07-09T00:00:00Z"
    assert server.packages[0].runtime_hint == "docker"
    assert server.packages[0].file_sha256 == "ab"


@pytest.mark.parametrize(
    "unfit",
    [None, 7, "text", [], {}, {"server": {}}, {"name": ""}, {"name": "no-namespace"}, {"name": "a/b/c"}]
    + [{"name": name} for name in ("../../etc/passwd", "a/b\n", "a b/c", "x/" + "y" * 300, 5)],
)
def test_what_is_no_server_is_refused(unfit: Any) -> None:
    with pytest.raises(UnfitEntry):
        parse_entry(unfit)


def test_an_unfit_entry_costs_only_itself() -> None:
    huge = entry("io.github.acme/huge", "x" * (MAX_ENTRY_BYTES + 1))
    body = json.dumps({"servers": [None, huge, ATLAS, {"server": {"name": "../up"}}]}).encode()

    page = read_page(body, "https://registry.example")

    assert [server.name for server in page.servers] == ["io.github.acme/atlas"]
    assert len(page.skipped) == 3
    assert page.next_cursor == ""


def test_all_unfit_entries_are_counted_and_the_first_explained() -> None:
    page = read_page(json.dumps({"servers": [None] * 1_000}).encode(), "https://registry.example")

    assert (len(page.skipped), page.skipped_count) == (20, 1_000)


def test_a_page_of_too_many_entries_is_an_error() -> None:
    with pytest.raises(RegistryError, match="more than 1000 entries"):
        read_page(json.dumps({"servers": [None] * 1_001}).encode(), "https://registry.example")


def test_numbers_and_lists_without_end_are_bounded() -> None:
    wide = {**BARE, "version": 10**5000, "packages": [{"registryType": "npm", "identifier": "a"}] * 500}

    server = parse_entry(wide)

    assert server.version == ""
    assert len(server.packages) == 64


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"servers": 5}',
        b'{"other": []}',
        b'{"servers": [' + b"[" * 100_000,
        b'{"servers":[}\xff',
    ],
)
def test_an_answer_that_is_no_list_is_a_registry_error(body: bytes) -> None:
    with pytest.raises(RegistryError):
        read_page(body, "https://registry.example")


@pytest.mark.parametrize("cursor", [5, "x" * 3000, ["a"]])
def test_a_cursor_that_cannot_be_used_is_a_registry_error(cursor: Any) -> None:
    with pytest.raises(RegistryError):
        read_page(json.dumps({"servers": [], "metadata": {"nextCursor": cursor}}).encode(), "https://registry.example")


def test_one_server_that_cannot_be_used_is_a_registry_error() -> None:
    for body in (b"[]", b"{", b'{"server": {}}', b'"' + b"x" * MAX_ENTRY_BYTES + b'"'):
        with pytest.raises(RegistryError):
            read_one(body, "https://registry.example")


def test_the_newest_of_several_versions_is_kept() -> None:
    def named(*versions: tuple[str, bool | None]) -> str:
        servers = [
            RegistryServer("a/b", version=text, is_latest=latest, published_at=text) for text, latest in versions
        ]
        return only_newest(servers)[0].version

    assert named(("1.9.0", None), ("1.10.0", None)) == "1.10.0"
    assert named(("2.0.0", False), ("1.0.0", True)) == "1.0.0"
    assert named(("1.0.0", None), ("1.0.0-beta.2", None)) == "1.0.0"
    assert named(("1.0.0-beta.2", None), ("1.0.0-beta.10", None)) == "1.0.0-beta.10"
    assert named(("2026-01-02", None), ("2026-01-03", None)) == "2026-01-03"
    assert named(("nightly", None), ("0.0.1", None)) == "0.0.1"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
FIELDS = (
    "name description version title packages remotes server _meta registryType identifier transport type url headers value "
    "runtimeArguments packageArguments environmentVariables isRequired isSecret default variables fileSha256 registryBaseUrl"
).split()
shaped = st.recursive(
    json_values,
    lambda inner: st.dictionaries(st.sampled_from(FIELDS), inner | st.lists(inner, max_size=3), max_size=6),
    max_leaves=20,
)


@given(shaped)
def test_whatever_an_entry_holds_it_is_a_server_with_plans_or_refused(data: Any) -> None:
    wrapped = {"name": "a/b", **data} if isinstance(data, dict) else data
    try:
        server = parse_entry(
            {**wrapped, "name": "a/b"} if isinstance(wrapped, dict) and "server" not in wrapped else data
        )
    except UnfitEntry:
        return
    assert plans(server)

"""Servers in sandboxes, and Toolcrib's own files: what one could leave its sandbox with is nothing that it reaches."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from tests.upstream.sandboxes import PROGRAM, gateway_to, need_sandboxes, told


@pytest.fixture
def own_home(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose folders of Toolcrib lie deep inside."""
    home = Path(os.environ["HOME"])
    monkeypatch.setenv("TOOLCRIB_HOME", str(home / "a" / "b" / "own"))
    (home / "a" / "b" / "own" / "engine").mkdir(parents=True)
    (home / "a" / "b" / "own" / "token").write_text("canary", encoding="utf-8")
    (home / "a" / "notes").write_text("words", encoding="utf-8")
    return home


@pytest.mark.parametrize("key", ["read", "write"])
async def test_a_server_that_may_see_a_home_does_not_see_toolcribs_folders_in_it(
    tmp_path: Path, own_home: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_sandboxes()
    own = own_home / "a" / "b" / "own"
    monkeypatch.chdir(own / "engine")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("x.sock")
        listener.listen()
        connect = f"os.chdir({str(own / 'engine')!r}), socket.socket(socket.AF_UNIX).connect('x.sock')"
        async with gateway_to(tmp_path, sandbox={key: [str(own_home)]}) as gateway:
            assert await told(gateway, f"open({str(own_home / 'a' / 'notes')!r}).read()") == "'words'"
            assert await told(gateway, f"os.listdir({str(own)!r})") == "[]"
            assert "FileNotFoundError" in await told(gateway, connect)
            assert "Error" in await told(gateway, f"open({str(own / 'toolcrib.yaml')!r}, 'w')")
            # Nor can another folder be put in its place.
            for folder in (own, own.parent, own.parent.parent):
                assert "OSError" in await told(gateway, f"os.rename({str(folder)!r}, {str(own_home / 'new')!r})"), (
                    folder
                )
    assert (own / "token").read_text(encoding="utf-8") == "canary"


async def test_a_folder_of_toolcrib_is_not_seen_by_another_name_either(tmp_path: Path, own_home: Path) -> None:
    need_sandboxes()
    link = tmp_path / "link"
    link.symlink_to(own_home / "a")
    async with gateway_to(tmp_path, sandbox={"read": [str(link)]}) as gateway:
        assert await told(gateway, f"os.listdir({str(link / 'b')!r})") == "['own']"
        assert await told(gateway, f"os.listdir({str(link / 'b' / 'own')!r})") == "[]"


async def test_an_engine_that_starts_later_is_not_seen_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_sandboxes()
    runtime = tmp_path / "run"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    async with gateway_to(tmp_path, sandbox={"read": [str(runtime)]}) as gateway:
        assert await told(gateway, f"os.listdir({str(runtime)!r})") == "['toolcrib']"
        (runtime / "toolcrib" / "x.sock").write_text("", encoding="utf-8")
        assert await told(gateway, f"os.listdir({str(runtime / 'toolcrib')!r})") == "[]"


@pytest.mark.parametrize("key", ["read", "write"])
async def test_a_folder_of_toolcrib_can_not_be_named(tmp_path: Path, own_home: Path, key: str) -> None:
    need_sandboxes()
    async with gateway_to(tmp_path, sandbox={key: [str(own_home / "a" / "b" / "own" / "engine")]}) as gateway:
        answer = await gateway.execute_tool("s", "run", {"code": "1"})
    assert answer.error is not None
    assert "is in a folder of Toolcrib itself" in answer.error.message


async def test_a_program_that_lies_in_a_folder_of_toolcrib_runs_and_sees_nothing_else_there(
    tmp_path: Path, own_home: Path
) -> None:
    need_sandboxes()
    bundle = own_home / "a" / "b" / "own" / "bundles" / "one"
    bundle.mkdir(parents=True)
    (bundle / "package.json").write_text("{}", encoding="utf-8")
    script = bundle / "server.py"
    script.write_text(PROGRAM, encoding="utf-8")
    entry = {"command": sys.executable, "args": [str(script)], "cwd": str(bundle)}
    for read in ([], [str(own_home)], [str(own_home), str(bundle)]):
        async with gateway_to(tmp_path, **entry, sandbox={"read": read}) as gateway:
            assert await told(gateway, "sorted(os.listdir('.'))") == "['package.json', 'server.py']"
            assert "Error" in await told(gateway, f"open({str(own_home / 'a' / 'b' / 'own' / 'token')!r}).read()")


async def test_what_decides_what_runs_can_not_be_written(tmp_path: Path) -> None:
    need_sandboxes()
    config = tmp_path / "toolcrib.json"
    async with gateway_to(tmp_path, sandbox={"write": [str(tmp_path)]}) as gateway:
        before = config.read_bytes()
        assert await told(gateway, f"len(open({str(config)!r}).read())") == str(len(before))
        assert await told(gateway, f"open({str(tmp_path / 'new')!r}, 'w').write('x')") == "1"
        for attempt in (
            f"open({str(config)!r}, 'w')",
            f"os.unlink({str(config)!r})",
            f"os.rename({str(tmp_path / 'new')!r}, {str(config)!r})",
        ):
            assert "OSError" in await told(gateway, attempt), attempt
    assert config.read_bytes() == before


async def test_a_configuration_can_not_be_named_for_writing(tmp_path: Path) -> None:
    need_sandboxes()
    async with gateway_to(tmp_path, sandbox={"write": [str(tmp_path / "toolcrib.json")]}) as gateway:
        answer = await gateway.execute_tool("s", "run", {"code": "1"})
    assert answer.error is not None
    assert "decides what Toolcrib starts" in answer.error.message

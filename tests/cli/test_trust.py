from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolcrib.cli.file_text import Held
from toolcrib.cli.main import main
from toolcrib.cli.terminal import Terminal
from toolcrib.config.find import local_candidates
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.config.trust import TrustedFiles

SERVERS = "discovery: {servers: {files: {command: files-server}}}\n"


def write(name: str, text: str = SERVERS) -> Path:
    path = Path.cwd() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def names() -> list[str]:
    return [server.name for server in load_settings().servers]


def test_a_file_of_the_working_directory_is_used_only_after_it_is_trusted(capsys: pytest.CaptureFixture[str]) -> None:
    path = write("toolcrib.yaml")
    assert names() == []

    assert main(["trust"]) == 0

    assert names() == ["files"]
    shown = f"{path}\n    {SERVERS.strip()}\n"
    assert capsys.readouterr().out == f"{shown}trusted until it changes: {path.resolve()}\n"


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["approvals", "list", "--json", *words]) == 0
    return list(json.loads(capsys.readouterr().out)["approvals"])


def test_a_configuration_that_came_with_a_folder_waits_among_the_approvals(capsys: pytest.CaptureFixture[str]) -> None:
    path = write("toolcrib.yaml", SERVERS + "# \u202eevil\n")
    (request,) = listed(capsys)
    assert (request["path"], request["risk"]["level"], request["servers"]) == (str(path), "high", [])
    assert request["content"] == SERVERS + "# \ufffdevil\n"

    assert main(["approvals", "show", "toolcrib.yaml"]) == 0
    assert f"    {SERVERS}" in capsys.readouterr().out
    assert main(["approvals", "approve", "toolcrib.yaml", "--yes", "--reason", "ours"]) == 0
    assert names() == ["files"]
    (approved,) = listed(capsys, "--all")
    assert (approved["state"], approved["decision"]["reason"]) == ("approved", "ours")

    assert main(["approvals", "reject", request["id"], "--yes"]) == 0
    assert names() == []
    assert listed(capsys) == []
    assert load_settings().warnings == ()


def test_an_empty_configuration_is_not_taken_for_a_harmless_file(capsys: pytest.CaptureFixture[str]) -> None:
    write("toolcrib.yaml", "")
    (request,) = listed(capsys)
    assert (request["risk"]["level"], request["content"]) == ("high", "")
    assert main(["trust"]) == 0
    assert "It is empty, and used in place of your own." in capsys.readouterr().out


def test_what_is_trusted_is_what_was_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is another one while a person looks at it, and before and after that it is not."""
    path = write(".mcp.json", '{"mcpServers": {"files": {"command": "files-server"}}}')
    honest = path.read_bytes()
    show = Held.print

    def shown_for_a_moment(self: Held, out: Terminal) -> None:
        path.write_bytes(honest.replace(b"files-server", b"evil-server"))
        show(self, out)
        path.write_bytes(honest)

    monkeypatch.setattr(Held, "print", shown_for_a_moment)
    assert main(["trust"]) == 0
    assert "Runs: files-server" in capsys.readouterr().out


@pytest.mark.parametrize(("answer", "used"), [("n", []), ("", []), ("yes", ["files"])])
def test_a_person_at_a_terminal_is_asked_once_they_have_seen_the_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: str, used: list[str]
) -> None:
    write("toolcrib.yaml")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    shown: list[str] = []

    def asked(_: str) -> str:
        shown.append(capsys.readouterr().out)
        return answer

    monkeypatch.setattr("builtins.input", asked)
    assert main(["trust"]) == 0
    assert SERVERS.strip() in shown[0]
    assert names() == used


def test_an_edited_file_must_be_trusted_again() -> None:
    path = write("toolcrib.yaml")
    main(["trust"])
    path.write_text(SERVERS.replace("files-server", "another"), encoding="utf-8")
    assert names() == []

    main(["trust"])

    assert names() == ["files"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("toolcrib.yaml", SERVERS), (".mcp.json", '{"mcpServers": {"files": {"command": "files-server"}}}')],
)
def test_a_file_that_was_edited_is_told_from_one_that_was_never_trusted(
    capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    path = write(name, text)

    def told() -> str:
        capsys.readouterr()
        assert main(["list", "--wait", "0"]) == 0
        return capsys.readouterr().err

    assert "not used: it came with this folder" in told()
    main(["trust"])
    path.write_text(text.replace("files-server", "another"), encoding="utf-8")
    assert "not used: it has changed since it was trusted" in told()
    main(["trust", "--forget"])
    assert "not used: it came with this folder" in told()


def test_where_nothing_is_trusted_the_list_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust", "--list"]) == 0
    assert "Nothing is trusted" in capsys.readouterr().out


def test_a_file_can_be_named(tmp_path: Path) -> None:
    path = write("elsewhere/toolcrib.yaml")

    assert main(["trust", str(path)]) == 0

    assert TrustedFiles(Paths.of(os.environ).trusted_files).paths() == (path.resolve(),)


@pytest.mark.parametrize("named", [True, False])
def test_trust_can_be_taken_back(named: bool, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("toolcrib.yaml")
    main(["trust"])
    capsys.readouterr()

    assert main(["trust", *([str(path)] if named else []), "--forget"]) == 0

    assert names() == []
    assert capsys.readouterr().out == f"no longer trusted: {path.resolve()}\n"


def test_where_there_is_nothing_to_trust_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust"]) == 2
    assert "no configuration file in this directory" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["missing.yaml", "."])
def test_a_name_that_is_no_file_is_refused(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust", what]) == 2
    assert "nothing to trust" in capsys.readouterr().err


def test_a_file_that_is_gone_can_still_be_forgotten() -> None:
    path = write("toolcrib.yaml")
    main(["trust"])
    path.unlink()

    assert main(["trust", str(path), "--forget"]) == 0

    assert TrustedFiles(Paths.of(os.environ).trusted_files).paths() == ()


def test_forgetting_what_was_never_trusted_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    path = write("toolcrib.yaml")

    assert main(["trust", "--forget"]) == 0
    assert capsys.readouterr().out == f"was not trusted: {path.resolve()}\n"


def test_candidates_come_in_search_order() -> None:
    expected = [
        write(".anygpt/mcp-discovery.config.yaml"),
        write(".anygpt/mcp-discovery.config.toml", ""),
        write("toolcrib.yml"),
        write("toolcrib.json", "{}"),
        write("toolcrib.ts", "export default {}"),
        write("anygpt.config.yaml"),
    ]
    write("other.yaml")

    assert list(local_candidates(Path.cwd())) == expected


def test_a_file_for_a_whole_program_is_a_candidate_only_with_our_section() -> None:
    write("anygpt.config.yaml", "chat: {}")
    assert list(local_candidates(Path.cwd())) == []

    broken = write("anygpt.config.yaml", "discovery: [")
    assert list(local_candidates(Path.cwd())) == [broken]

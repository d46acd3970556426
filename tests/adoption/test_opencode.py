"""OpenCode, which reads several files as one."""

from __future__ import annotations

import json
import os
from pathlib import Path

from toolcrib.config.documents import parse_document
from toolcrib.config.load import load_settings

JSON = b'{"mcp": {"a": {"type": "local", "command": ["a-mcp"]}}, "theme": "x"}\n'
JSONC = b'{\n  // mine\n  "mcp": {\n    "b": {"type": "local", "command": ["b-mcp"]}, // second\n  },\n}\n'


def give(name: str, content: bytes) -> Path:
    file = Path(os.environ["HOME"]) / ".config" / "opencode" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def entries(file: Path) -> list[str]:
    return list(parse_document(file.read_bytes(), file)["mcp"])


def test_the_servers_of_both_of_its_files_are_offered_without_adopting(home):
    give("opencode.json", JSON)
    give("opencode.jsonc", JSONC)
    assert {spec.name for spec in load_settings().servers} == {"a", "b"}


def test_a_file_with_comments_alone_is_adopted_and_released(home):
    file = give("opencode.jsonc", JSONC)
    assert home.run("adopt", "--yes") == 0
    assert entries(file) == ["toolcrib"]
    assert b"// mine" in file.read_bytes()
    assert not file.with_name("opencode.json").exists()
    assert home.run("release", "--yes") == 0
    assert file.read_bytes() == JSONC


def test_both_files_are_adopted_with_one_entry_for_us_and_come_back_byte_for_byte(home, capsys):
    plain, commented = give("opencode.json", JSON), give("opencode.jsonc", JSONC)
    answer = home.answer(capsys, "adopt", "--yes")
    assert [Path(one["file"]).name for one in answer["clients"]] == ["opencode.json", "opencode.jsonc"]
    assert (entries(plain), entries(commented)) == (["toolcrib"], [])
    assert {spec.name for spec in load_settings().servers} == {"a", "b"}
    again = home.answer(capsys, "adopt", "--yes")
    assert (again["done"], [one["client"] for one in again["skipped"]]) == (False, ["opencode"])
    assert home.run("release", "opencode", "--yes") == 0
    assert (plain.read_bytes(), commented.read_bytes()) == (JSON, JSONC)
    assert not home.own.exists()


def test_both_files_are_merged_back_when_opencode_wrote_to_them(home, capsys):
    """It adds a schema to files that have none."""
    files = {give("opencode.json", JSON): JSON, give("opencode.jsonc", JSONC): JSONC}
    assert home.run("adopt", "--yes") == 0
    for file in files:
        file.write_bytes(file.read_bytes().replace(b"{", b'{"$schema": "x", ', 1))
    answer = home.answer(capsys, "release", "--yes")
    assert [one["how"] for one in answer["clients"]] == ["merged", "merged"]
    assert {file: parse_document(file.read_bytes(), file)["mcp"] for file in files} == {
        file: parse_document(content, file)["mcp"] for file, content in files.items()
    }
    kept = [Path(one["remarks"][0].partition(": ")[2]).read_bytes() for one in answer["clients"]]
    assert kept == list(files.values())


def test_servers_in_its_second_file_alone_still_get_it_an_entry_for_us(home):
    plain, commented = give("opencode.json", b'{"theme": "x"}'), give("opencode.jsonc", JSONC)
    assert home.run("adopt", "--yes") == 0
    assert (entries(plain), entries(commented)) == (["toolcrib"], [])
    assert home.run("release", "--yes") == 0
    assert (plain.read_bytes(), commented.read_bytes()) == (b'{"theme": "x"}', JSONC)


def test_connecting_sees_an_entry_in_any_of_its_files(home, capsys):
    give("opencode.json", JSON)
    entry = {"type": "local", "command": ["/opt/bin/toolcrib", "serve"]}
    give("opencode.jsonc", json.dumps({"mcp": {"toolcrib": entry}}).encode())
    answer = home.answer(capsys, "connect", "opencode")
    assert (answer["exit"], answer["done"]) == (0, False)


def test_a_server_about_which_two_files_differ_stays_in_both(home, capsys):
    give("opencode.json", JSON)
    other = give(
        "opencode.jsonc",
        b'{"mcp": {"a": {"type": "local", "command": ["other"]}, "c": {"type": "local", "command": ["c"]}}}',
    )
    answer = home.answer(capsys, "adopt", "--yes")
    stays = [(one["name"], "two files" in one["why"]) for client in answer["clients"] for one in client["stays"]]
    assert stays == [("a", True), ("a", True)]
    assert entries(other) == ["a"]
    assert home.run("release", "--yes") == 0


def test_files_of_one_client_in_two_places_are_both_remembered(home, monkeypatch, tmp_path):
    """The file of Codex may be elsewhere the next time: what was moved out of the first is still given back."""
    contents = {name: f'[mcp_servers.{name}]\ncommand = "{name}"\n'.encode() for name in ("first", "second")}
    for name, content in contents.items():
        monkeypatch.setenv("CODEX_HOME", str(tmp_path / name))
        home.give("codex", content)
        assert home.run("adopt", "codex", "--yes") == 0
    assert home.run("release", "--yes") == 0
    assert {name: (tmp_path / name / "config.toml").read_bytes() for name in contents} == contents
    assert not home.own.exists()

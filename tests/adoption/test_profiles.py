"""`adopt --profiles`: each client goes on seeing what it had, and release takes the profiles back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.adoption.home import Home
from toolcrib.config.documents import parse_document
from toolcrib.config.load import load_settings
from toolcrib.config.profiles import Profile
from toolcrib.model.tool_rule import ToolRule

LISTS = b"""{"mcpServers": {"notes": {"command": "notes", "disabledTools": ["drop_all"]}}}"""


def arguments(home: Home, client: str, key: str = "mcpServers") -> list[str]:
    content = home.file(client).read_bytes()
    document: Any = (
        tomllib.loads(content.decode()) if client == "codex" else parse_document(content, Path("client.json"))
    )
    return list(document[key]["toolcrib"]["args"])


def test_adopt_makes_a_profile_of_what_a_client_had_and_release_takes_it_back(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    before = home.give_all()

    answer = home.answer(capsys, "adopt", "--profiles", "--yes")

    assert {one["client"]: one.get("profile") for one in answer["clients"]} == {
        "claude-desktop": "claude-desktop",
        "cursor": "cursor",
        "vscode": "vscode",
        "codex": "codex",
    }
    assert load_settings().profiles == {
        "claude-desktop": Profile("claude-desktop", servers=("clock",)),
        "cursor": Profile("cursor", servers=("clock", "notes")),
        "vscode": Profile("vscode", servers=("notes-vscode",)),
        "codex": Profile("codex", servers=("wiki",)),
    }
    assert arguments(home, "cursor")[-3:] == ["serve", "--profile", "cursor"]
    assert arguments(home, "codex", "mcp_servers")[-3:] == ["serve", "--profile", "codex"]

    assert home.run("release", "cursor", "--yes") == 0
    assert set(load_settings().profiles) == {"claude-desktop", "vscode", "codex"}
    assert home.run("release", "--yes") == 0
    assert not home.own.exists()
    assert {file: file.read_bytes() for file in before} == before


def test_a_server_that_gets_another_name_has_it_in_a_list_of_servers_too(home: Home) -> None:
    home.own.parent.mkdir(parents=True, exist_ok=True)
    home.own.write_text("discovery:\n  servers:\n  - {name: mine, command: mine}\n")
    home.give("cursor", b"""{"mcpServers": {"notes": {"command": "notes"}}}""")
    home.give("claude-desktop", b"""{"mcpServers": {"notes": {"command": "other-notes"}}}""")

    assert home.run("adopt", "--profiles", "--yes") == 0

    settings = load_settings()
    allowed = {profile.servers for profile in settings.profiles.values()}
    assert {server.name for server in settings.servers} == {"mine", *(name for (name,) in allowed if name)}
    assert len(settings.servers) == 3


def test_the_lists_of_tools_that_a_client_had_are_in_its_profile(home: Home) -> None:
    home.give("cursor", LISTS)

    assert home.run("adopt", "--profiles", "--yes") == 0

    rule = ToolRule(("drop_all",), server="notes", enabled=False)
    assert load_settings().profiles == {"cursor": Profile("cursor", servers=("notes",), tool_rules=(rule,))}


def test_a_profile_of_the_person_is_neither_changed_nor_taken_away(home: Home) -> None:
    home.give("cursor", LISTS)
    home.own.parent.mkdir(parents=True, exist_ok=True)
    own = "# mine\ndiscovery:\n  profiles:\n    cursor: {readOnly: true}\n"
    home.own.write_text(own, encoding="utf-8")

    assert home.run("adopt", "--profiles", "--yes") == 0
    assert set(load_settings().profiles) == {"cursor", "cursor-2"}
    assert arguments(home, "cursor")[-1] == "cursor-2"
    home.own.write_text(f"{home.own.read_text('utf-8')}# and another word\n", encoding="utf-8")

    assert home.run("release", "--yes") == 0
    assert load_settings().profiles == {"cursor": Profile("cursor", read_only=True)}
    assert "# and another word" in home.own.read_text("utf-8")


def test_without_the_option_no_client_gets_a_profile(home: Home) -> None:
    home.give_all()

    assert home.run("adopt", "--yes") == 0

    assert load_settings().profiles == {}
    assert "--profile" not in arguments(home, "cursor")


def test_a_server_that_comes_later_is_seen_by_the_client_that_had_it(home: Home) -> None:
    before = home.give("cursor", LISTS).read_bytes()
    assert home.run("adopt", "--profiles", "--yes") == 0
    file = home.file("cursor")
    document = json.loads(file.read_bytes())
    document["mcpServers"]["wiki"] = {"command": "wiki", "disabledTools": ["erase"]}
    file.write_text(json.dumps(document), encoding="utf-8")

    assert home.run("adopt", "--yes") == 0

    rules = tuple(
        ToolRule((name,), server=server, enabled=False) for server, name in (("notes", "drop_all"), ("wiki", "erase"))
    )
    assert load_settings().profiles == {"cursor": Profile("cursor", servers=("notes", "wiki"), tool_rules=rules)}
    assert arguments(home, "cursor")[-3:] == ["serve", "--profile", "cursor"]

    assert home.run("release", "--yes") == 0
    assert not home.own.exists()
    assert set(json.loads(file.read_bytes())["mcpServers"]) == {*json.loads(before)["mcpServers"], "wiki"}


def test_a_profile_that_a_person_changed_grows_too_and_stays_theirs(home: Home) -> None:
    home.give("cursor", LISTS)
    assert home.run("adopt", "--profiles", "--yes") == 0
    home.own.write_text(home.own.read_text("utf-8").replace("cursor:\n", "cursor:\n      readOnly: true\n"), "utf-8")
    assert load_settings().profiles["cursor"].read_only
    file = home.file("cursor")
    document = json.loads(file.read_bytes())
    document["mcpServers"]["wiki"] = {"command": "wiki"}
    file.write_text(json.dumps(document), encoding="utf-8")

    assert home.run("adopt", "--yes") == 0
    grown = load_settings().profiles["cursor"]
    assert (grown.servers, grown.read_only) == (("notes", "wiki"), True)

    assert home.run("release", "--yes") == 0
    assert load_settings().profiles["cursor"].read_only

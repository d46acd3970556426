"""Claude Code, whose file only its own program writes: moved in through it, and out again."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.adoption.home import CURSOR
from toolcrib.adoption.adopt import plan_adoption
from toolcrib.adoption.claude_lock import claude_locked
from toolcrib.config.load import load_settings
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.errors import ConfigurationError

NOTES = {"type": "stdio", "command": "notes", "args": ["--all"], "env": {"NOTES_TOKEN": "n0tes-s3cret", "A": "${A:-b}"}}
WIKI = {"type": "http", "url": "https://wiki.example.com/mcp", "headers": {"Authorization": "Bearer w1ki-s3cret"}}
SIGNED_IN = {"type": "http", "url": "https://mcp.example.com/mcp"}
STATE = {
    "numStartups": 12,
    "mcpServers": {"notes": NOTES, "wiki": WIKI, "cloud": SIGNED_IN},
    "projects": {"/nowhere": {"history": [{"display": "a private question"}], "mcpServers": {"db": {"command": "db"}}}},
    "tipsHistory": {"x": 1},
}


def give(home, state: dict[str, Any] = STATE) -> Path:
    return home.give("claude-code", json.dumps(state, indent=2).encode())


def state_of(home) -> dict[str, Any]:
    return json.loads(home.file("claude-code").read_bytes())


def own_names(home) -> list[str]:
    return [spec.name for spec in load_settings().servers if spec.origin.source == "toolcrib"]


def test_its_servers_move_through_its_own_program_and_come_back(home, claude, capsys):
    give(home)
    answer = home.answer(capsys, "adopt", "claude-code", "--yes")
    assert (answer["exit"], answer["done"]) == (0, True)
    assert [move["name"] for move in answer["clients"][0]["moves"]] == ["notes", "wiki"]
    state = state_of(home)
    assert set(state["mcpServers"]) == {"cloud", "toolcrib"}
    assert own_names(home) == ["notes", "wiki"]
    assert {**state, "mcpServers": STATE["mcpServers"]} == STATE
    answer = home.answer(capsys, "release", "--yes")
    assert (answer["exit"], answer["clients"][0]["how"]) == (0, "restored")
    assert state_of(home) == STATE
    assert not home.own.exists()
    assert [file.name for file in home.site.folder.rglob("*") if file.is_file()] == ["lock"]


def test_all_clients_found_move_together(home, claude, capsys):
    give(home)
    cursor = home.give("cursor", CURSOR)
    assert home.run("adopt", "--yes") == 0
    assert set(state_of(home)["mcpServers"]) == {"cloud", "toolcrib"}
    assert home.run("release", "--yes") == 0
    assert (state_of(home), cursor.read_bytes()) == (STATE, CURSOR)


def test_connecting_adds_an_entry_that_keeps_our_tools_loaded(home, claude, capsys):
    give(home, {"numStartups": 1})
    answer = home.answer(capsys, "connect", "claude-code")
    assert (answer["exit"], answer["done"]) == (0, True)
    entry = state_of(home)["mcpServers"]["toolcrib"]
    assert entry["alwaysLoad"] is True
    assert os.access(entry["command"], os.X_OK)
    assert entry["env"] == {"TOOLCRIB_HOME": os.environ["TOOLCRIB_HOME"]}
    again = home.answer(capsys, "connect", "claude-code")
    assert (again["exit"], again["done"]) == (0, False)
    assert home.run("release", "--yes") == 0
    assert state_of(home) == {"numStartups": 1, "mcpServers": {}}


def test_connecting_works_before_claude_code_was_ever_started(home, claude):
    assert home.run("connect", "claude-code") == 0
    assert set(state_of(home)["mcpServers"]) == {"toolcrib"}
    assert home.run("release", "--yes") == 0
    assert state_of(home)["mcpServers"] == {}


def test_the_copilot_cli_is_told_to_keep_our_tools_loaded_too(home):
    assert home.run("connect", "copilot-cli") == 0
    assert json.loads(home.file("copilot-cli").read_bytes())["mcpServers"]["toolcrib"]["deferTools"] == "never"


@pytest.mark.parametrize(
    ("key", "entry", "why"),
    [
        ("s", SIGNED_IN, "signed in"),
        ("s", {"type": "sse", "url": "https://x.example/sse"}, "signed in"),
        ("dot.ted", {"command": "x"}, "name"),
        ("s", {"command": "x", "displayName": "S"}, "displayName"),
        ("s", {"command": "x", "env": {"PORT": 1}}, "take it back"),
        ("s", {"command": "x", "timeout": 0.5}, "take it back"),
        ("s", {"url": "https://x.example/mcp", "headers": {"X": "y"}}, "take it back"),
        ("s", {"type": "http", "url": "https://x.example/mcp", "headersHelper": "/h"}, "program"),
        ("s", {"type": "ws", "url": "wss://x.example/mcp"}, ""),
    ],
)
def test_what_its_program_would_not_give_back_as_it_was_stays_and_is_named(home, claude, capsys, key, entry, why):
    give(home, {"mcpServers": {key: entry, "fine": {"command": "y", "args": []}}})
    answer = home.answer(capsys, "adopt", "--yes")
    (stays,) = answer["clients"][0]["stays"]
    assert stays["name"] == key
    assert why in stays["why"]
    assert state_of(home)["mcpServers"][key] == entry
    assert home.run("release", "--yes") == 0
    assert state_of(home)["mcpServers"] == {key: entry, "fine": {"command": "y", "args": []}}


def test_a_sign_in_of_claude_code_is_not_forgotten(home, claude):
    sign_ins = Path(os.environ["HOME"]) / ".claude" / ".credentials.json"
    sign_ins.parent.mkdir()
    sign_ins.write_text('{"mcpOAuth": {"cloud": {"accessToken": "x"}}}', "utf-8")
    give(home)
    assert home.run("adopt", "--yes") == 0
    assert home.run("release", "--yes") == 0
    assert json.loads(sign_ins.read_bytes()) == {"mcpOAuth": {"cloud": {"accessToken": "x"}}}


def test_servers_of_one_folder_stay_unless_they_are_asked_for(home, claude, capsys, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    state = {"projects": {str(folder): {"mcpServers": {"db": {"type": "stdio", "command": "db", "args": ["."]}}}}}
    give(home, state)
    answer = home.answer(capsys, "adopt", "--yes")
    assert answer["clients"] == []
    assert "--local" in answer["skipped"][0]["why"]
    assert home.run("adopt", "--local", "--yes") == 0
    assert state_of(home)["projects"][str(folder)]["mcpServers"] == {}
    (db,) = [spec for spec in load_settings().servers if spec.name == "db"]
    assert db.launch.cwd == str(folder)
    assert home.run("release", "--yes") == 0
    assert state_of(home)["projects"] == state["projects"]
    assert state_of(home)["mcpServers"] == {}


def test_the_same_name_in_two_scopes_goes_back_to_its_own(home, claude, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    state = {
        "mcpServers": {"db": {"command": "user-db", "args": []}},
        "projects": {str(folder): {"mcpServers": {"db": {"command": "local-db", "args": []}}}},
    }
    give(home, state)
    assert home.run("adopt", "--local", "--yes") == 0
    assert set(own_names(home)) == {"db", "db-claude-code"}
    # Somebody else's change, so that release has to merge.
    subprocess.run(["claude", "mcp", "add-json", "-s", "user", "later", '{"command": "l"}'], check=True)
    assert home.run("release", "--yes") == 0
    found = state_of(home)
    assert found["projects"] == state["projects"]
    assert found["mcpServers"] == {"later": {"command": "l", "args": []}, **state["mcpServers"]}


def test_without_its_program_servers_are_copied_and_what_to_type_is_shown(home, capsys):
    file = give(home)
    before = file.read_bytes()
    answer = home.answer(capsys, "adopt", "claude-code", "--yes")
    assert (answer["exit"], answer["done"]) == (2, True)
    add, *removals = answer["clients"][0]["byHand"]
    assert (add[:5], add[5]) == (["claude", "mcp", "add-json", "-s", "user"], "toolcrib")
    assert json.loads(add[6])["alwaysLoad"] is True
    assert removals == [["claude", "mcp", "remove", "-s", "user", name] for name in ("notes", "wiki")]
    assert file.read_bytes() == before
    assert own_names(home) == ["notes", "wiki"]
    assert home.run("adopt", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert "copied to Toolcrib's file" in shown
    assert "claude mcp remove -s user notes" in shown
    assert home.run("connect", "claude-code") == 2
    assert "claude mcp add-json" in capsys.readouterr().out
    assert home.run("release", "--yes") == 0
    assert not home.own.exists()
    assert file.read_bytes() == before


def test_without_its_program_and_without_servers_it_is_passed_over(home, capsys):
    give(home, {"numStartups": 1})
    home.give("cursor", CURSOR)
    answer = home.answer(capsys, "adopt", "--yes")
    assert [one["client"] for one in answer["clients"]] == ["cursor"]
    assert ("claude-code", True) in [(one["client"], "connect" in one["why"]) for one in answer["skipped"]]


def test_what_was_removed_by_hand_is_kept_until_the_program_can_give_it_back(home, capsys, request):
    give(home)
    assert home.run("adopt", "--yes") == 0
    left = {**STATE, "mcpServers": {"cloud": SIGNED_IN}}
    give(home, left)
    answer = home.answer(capsys, "release", "--yes")
    assert (answer["exit"], answer["clients"][0]["how"]) == (2, "by hand")
    assert own_names(home) == ["notes", "wiki"]
    assert state_of(home) == left
    request.getfixturevalue("claude")
    assert home.run("release", "--yes") == 0
    assert state_of(home)["mcpServers"] == STATE["mcpServers"]
    assert not home.own.exists()


@pytest.mark.parametrize("refused", ["add-json:toolcrib", "remove:notes", "remove:wiki"])
def test_when_its_program_refuses_everything_is_put_back(home, claude, capsys, monkeypatch, refused):
    give(home)
    cursor = home.give("cursor", CURSOR)
    monkeypatch.setenv("STAND_IN_REFUSES", refused)
    answer = home.answer(capsys, "adopt", "--yes")
    assert (answer["exit"], "enterprise" in answer["error"]["message"]) == (2, True)
    assert "toolcrib adopt CLIENT" in answer["error"]["hint"]
    assert (state_of(home), cursor.read_bytes()) == (STATE, CURSOR)
    assert not home.own.exists()
    assert [file.name for file in home.site.folder.rglob("*") if file.is_file()] == ["lock"]


@pytest.mark.parametrize("refused", ["add-json:wiki", "remove:toolcrib"])
def test_a_release_its_program_refuses_can_be_tried_again(home, claude, capsys, monkeypatch, refused):
    give(home)
    cursor = home.give("cursor", CURSOR)
    assert home.run("adopt", "--yes") == 0
    adopted = (state_of(home), cursor.read_bytes())
    with monkeypatch.context() as patch:
        patch.setenv("STAND_IN_REFUSES", refused)
        assert home.answer(capsys, "release", "--yes")["exit"] == 2
    assert (state_of(home), cursor.read_bytes()) == adopted
    assert home.run("release", "--yes") == 0
    assert (state_of(home), cursor.read_bytes()) == (STATE, CURSOR)


@pytest.mark.parametrize("killed_after", ["add-json:toolcrib", "remove:notes", "remove:wiki"])
def test_after_kill_9_between_its_commands_release_gives_everything_back(home, claude, killed_after):
    give(home)
    cursor = home.give("cursor", CURSOR)
    env = {**os.environ, "STAND_IN_KILLS": killed_after}
    command = [sys.executable, "-m", "toolcrib", "adopt", "--yes"]
    assert subprocess.run(command, env=env, capture_output=True, check=False, timeout=45).returncode == -9
    assert home.run("release", "--yes") == 0
    assert (state_of(home), cursor.read_bytes()) == (STATE, CURSOR)
    assert not home.own.exists()


def test_no_secret_is_on_a_command_line_when_servers_are_given_back(home, claude, monkeypatch, tmp_path):
    notes = tmp_path / "commands.txt"
    give(home)
    assert home.run("adopt", "--yes") == 0
    monkeypatch.setenv("STAND_IN_NOTES", str(notes))
    assert home.run("release", "--yes") == 0
    said = notes.read_text("utf-8")
    assert [line.split()[:4] for line in said.splitlines() if line.startswith("add-json")] == [
        ["add-json", "-s", "user", "notes"],
        ["add-json", "-s", "user", "wiki"],
    ]
    assert "s3cret" not in said
    assert state_of(home) == STATE


@pytest.mark.parametrize("killed_after", ["add-json:notes", "add-json:wiki", "remove:toolcrib"])
def test_after_kill_9_in_the_middle_of_a_release_another_one_gives_everything_back(home, claude, killed_after):
    give(home)
    assert home.run("adopt", "--yes") == 0
    env = {**os.environ, "STAND_IN_KILLS": killed_after}
    command = [sys.executable, "-m", "toolcrib", "release", "--yes"]
    assert subprocess.run(command, env=env, capture_output=True, check=False, timeout=45).returncode == -9
    assert home.run("release", "--yes") == 0
    assert state_of(home) == STATE
    assert not home.own.exists()


def test_what_claude_code_writes_while_servers_are_given_back_is_not_lost(home, claude):
    def write_on() -> int:
        new = file.with_name("new.json")
        for count in itertools.count(1):
            with claude_locked(file):
                new.write_text(json.dumps({**state_of(home), "numStartups": count}), "utf-8")
                new.replace(file)
            if released.wait(0.01):
                return count
        raise AssertionError

    file, released = give(home), threading.Event()
    assert home.run("adopt", "--yes") == 0
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(write_on)
        try:
            answer = home.run("release", "--yes")
        finally:
            released.set()
        last = busy.result(timeout=30)
    assert answer == 0
    assert state_of(home) == {**STATE, "numStartups": last}


def test_a_lock_that_claude_code_left_behind_keeps_nobody_out(tmp_path):
    left = tmp_path / ".claude.json.lock"
    left.mkdir()
    os.utime(left, (0, 0))
    with claude_locked(tmp_path / ".claude.json", wait_seconds=5):
        assert left.is_dir()
    assert not left.exists()


def test_a_file_that_claude_code_keeps_locked_is_not_written(tmp_path):
    file = tmp_path / ".claude.json"
    with (
        claude_locked(file),
        pytest.raises(ConfigurationError, match=r"keeps it locked \(\.claude\.json\.lock\); close Claude Code"),
        claude_locked(file, wait_seconds=0.1),
    ):
        raise AssertionError("two have the lock")
    with claude_locked(file, wait_seconds=0.1):
        assert file.with_name(".claude.json.lock").is_dir()


def test_what_else_claude_code_writes_into_its_file_meanwhile_disturbs_nobody(home, claude):
    give(home)
    plan = plan_adoption(home.site, OsKeyring())
    busy = {**STATE, "numStartups": 13, "history": ["more"]}
    give(home, busy)
    home.carry_out(plan)
    assert set(state_of(home)["mcpServers"]) == {"cloud", "toolcrib"}
    assert home.run("release", "--yes") == 0
    assert state_of(home) == busy


def test_nothing_of_conversations_is_copied_and_no_secret_is_shown(home, claude, capsys):
    give(home)
    home.answer(capsys, "adopt", "--dry-run")
    assert home.run("adopt", "--yes") == 0
    assert "s3cret" not in capsys.readouterr().out
    kept = b"".join(file.read_bytes() for file in home.site.folder.rglob("*") if file.is_file())
    assert b"n0tes-s3cret" in kept
    assert b"private question" not in kept

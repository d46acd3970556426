from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.adoption.home import CODEX, CURSOR, DESKTOP, contents
from toolcrib.adoption.adopt import plan_adoption
from toolcrib.cli.terminal import home_as_tilde
from toolcrib.config.documents import parse_document
from toolcrib.config.load import load_settings
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.errors import ConfigurationError


def moves(answer: dict, client: str) -> list[tuple[str, str]]:
    (found,) = [one for one in answer["clients"] if one["client"] == client]
    return [(move["name"], move["as"]) for move in found["moves"]]


def test_every_client_found_is_adopted_and_each_server_is_behind_the_counter_once(home, capsys):
    home.give_all()
    answer = home.answer(capsys, "adopt", "--yes")
    assert (answer["exit"], answer["done"], answer["config"]) == (0, True, str(home.own))
    assert moves(answer, "claude-desktop") == [("clock", "clock")]
    assert moves(answer, "cursor") == [("clock", "clock"), ("notes", "notes")]
    assert moves(answer, "vscode") == [("notes", "notes-vscode")]
    assert moves(answer, "codex") == [("wiki", "wiki")]
    settings = load_settings()
    own = {spec.name for spec in settings.servers if spec.origin.source == "toolcrib"}
    assert own == {"clock", "notes", "notes-vscode", "wiki"}
    # What stayed in a client is still imported from there, as before.
    assert {spec.name for spec in settings.servers} - own <= {"here", "bank"}


def test_each_client_keeps_its_comments_and_gets_one_entry_with_a_path_that_exists(home):
    home.give_all()
    assert home.run("adopt", "--yes") == 0
    cursor = home.file("cursor").read_bytes()
    assert b"// my cursor" in cursor
    assert b"/* stays */" in cursor
    assert home.file("vscode").read_bytes().count(b"\r\n") == home.file("vscode").read_bytes().count(b"\n")
    codex = home.file("codex").read_bytes()
    assert codex.startswith(b'model = "x" # mine\n\n# the wiki\n')
    entries = [
        parse_document(home.file("claude-desktop").read_bytes(), Path("x.json"))["mcpServers"],
        parse_document(cursor, Path("x.json"))["mcpServers"],
        parse_document(home.file("vscode").read_bytes(), Path("x.json"))["servers"],
        tomllib.loads(codex.decode())["mcp_servers"],
    ]
    assert [set(listed) for listed in entries] == [
        {"toolcrib"},
        {"here", "toolcrib"},
        {"bank", "toolcrib"},
        {"toolcrib"},
    ]
    for listed in entries:
        assert Path(listed["toolcrib"]["command"]).is_absolute()
        assert os.access(listed["toolcrib"]["command"], os.X_OK)
        assert listed["toolcrib"]["env"] == {"TOOLCRIB_HOME": os.environ["TOOLCRIB_HOME"]}


def test_what_only_the_client_can_run_stays_and_is_named_with_the_reason(home, capsys):
    home.give_all()
    answer = home.answer(capsys, "adopt", "--dry-run")
    stays = {one["name"]: one["why"] for client in answer["clients"] for one in client["stays"]}
    assert set(stays) == {"here", "bank"}
    assert "${workspaceFolder}" in stays["here"]
    assert "input:pin" in stays["bank"]


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x", "args": ["${input:pin}"]},
        {"command": "x", "env": {"K": "${command:pick}"}},
        {"command": "x", "env": {"K": "${{ secrets.K }}"}},
        {"command": "x", "cwd": "${workspaceFolder}/sub"},
        {"url": "https://x.example/mcp", "headersHelper": "/bin/helper"},
        {"url": "https://x.example/mcp", "oauth": {"clientId": "c"}},
        {"url": "https://x.example/mcp", "auth": {"CLIENT_ID": "c"}},
        {"args": ["no command"]},
        "not even an entry",
    ],
)
def test_a_server_that_would_not_run_the_same_way_is_never_moved(home, capsys, entry):
    file = home.give("cursor", json.dumps({"mcpServers": {"s": entry}}).encode())
    before = file.read_bytes()
    answer = home.answer(capsys, "adopt", "--yes")
    assert answer["clients"] == []
    assert "s stays" in answer["skipped"][0]["why"]
    assert file.read_bytes() == before
    assert not home.own.exists()


def test_a_dry_run_writes_nothing_at_all(home):
    files = home.give_all()
    assert home.run("adopt", "--dry-run") == 0
    assert contents(files) == files
    assert not home.own.exists()
    assert not home.site.folder.exists()


def test_without_consent_nothing_is_written(home, capsys):
    files = home.give_all()
    assert home.run("adopt") == 1
    assert "--yes" in capsys.readouterr().err
    assert contents(files) == files


def test_without_consent_json_says_so_in_json(home, capsys):
    home.give_all()
    answer = home.answer(capsys, "adopt")
    assert (answer["exit"], answer["error"]["code"]) == (1, "VALIDATION_ERROR")


@pytest.mark.parametrize(("typed", "is_done"), [(b"y\n", True), (b"\n", False), (b"no\n", False)])
def test_on_a_terminal_the_owner_is_asked(home, typed, is_done):
    files = home.give_all()
    owner, terminal = os.openpty()
    os.write(owner, typed)
    command = [sys.executable, "-m", "toolcrib", "adopt"]
    done = subprocess.run(command, check=False, stdin=terminal, capture_output=True, text=True, timeout=30)
    os.close(terminal)
    os.close(owner)
    assert (done.returncode, "Go ahead?" in done.stdout) == (0, True)
    assert (contents(files) != files) == is_done
    assert home.own.exists() == is_done


def test_no_secret_is_shown(home, capsys):
    home.give_all()
    entry = {
        "command": "x",
        "args": ["--api-key", "arg-s3cret", "--token=eq-s3cret", "https://u:pw-s3cret@h/?k=q-s3cret"],
    }
    home.give("windsurf", json.dumps({"mcpServers": {"w": entry}}, indent=1).encode())
    home.run("adopt", "--dry-run", "--diff")
    shown = capsys.readouterr().out
    assert "--- " not in shown
    assert "+      " in shown
    home.answer(capsys, "adopt", "--dry-run")
    home.run("adopt", "--dry-run", "--json")
    shown += capsys.readouterr().out
    assert "s3cr" not in shown
    assert "w1k1" not in shown
    assert "notes" in shown


def test_the_plan_is_short_unless_its_changed_lines_are_asked_for(home, capsys):
    home.give_all()
    assert home.run("adopt", "--dry-run") == 0
    short = capsys.readouterr().out
    assert f"Cursor  {home_as_tilde(str(home.file('cursor')))}\n  moves  clock, notes\n  stays  here: it names" in short
    assert "\n  moves  notes (as notes-vscode)\n  stays  bank: " in short
    assert f"Toolcrib's file {home_as_tilde(str(home.own))} (new) gets: clock, notes, notes-vscode, wiki\n" in short
    assert "Each of the 4 clients' files gets one entry for Toolcrib; --diff shows every line that changes.\n" in short
    assert not any(line.lstrip().startswith(("+", "@@")) for line in short.splitlines())
    assert home.run("adopt", "--dry-run", "--diff") == 0
    full = capsys.readouterr().out
    assert '    -url = "https://wiki.example.com/mcp"' in full
    assert "    +[mcp_servers.toolcrib]" in full
    assert [line for line in short.splitlines() if "moves" in line or "stays" in line] == [
        line for line in full.splitlines() if line.startswith(("  moves", "  stays"))
    ]


def test_connecting_shows_what_it_adds_only_on_request(home, capsys):
    home.give("cursor", CURSOR)
    assert home.run("connect", "cursor", "--dry-run") == 0
    short = capsys.readouterr().out
    assert "--diff shows every line that changes" in short
    assert home.run("connect", "cursor", "--dry-run", "--diff") == 0
    assert '+    "toolcrib": {' in capsys.readouterr().out
    assert '"toolcrib": {' not in short


def test_escapes_in_foreign_names_do_not_reach_the_terminal(home, capsys):
    home.give("cursor", json.dumps({"mcpServers": {"evil\u001b[31m\u202e": {"command": "x"}}}).encode())
    assert home.run("adopt", "--yes") == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    (name,) = [spec.name for spec in load_settings().servers]
    assert name == "evil-31m"


def test_only_the_named_clients_are_adopted(home):
    files = home.give_all()
    assert home.run("adopt", "Cursor", "--yes") == 0
    now = contents(files)
    assert [file for file, content in files.items() if now[file] != content] == [home.file("cursor")]


def test_a_named_server_can_be_kept_in_its_client(home, capsys):
    home.give("cursor", CURSOR)
    answer = home.answer(capsys, "adopt", "--yes", "--keep", "notes")
    assert moves(answer, "cursor") == [("clock", "clock")]
    assert b"s3cr3t-n0tes" in home.file("cursor").read_bytes()


def test_adopting_again_moves_only_what_is_new(home, capsys):
    home.give("cursor", CURSOR)
    assert home.run("adopt", "--yes") == 0
    own = home.own.read_bytes()
    again = home.answer(capsys, "adopt", "--yes")
    assert (again["done"], home.own.read_bytes()) == (False, own)
    home.give("claude-desktop", DESKTOP)
    more = home.answer(capsys, "adopt", "--yes")
    assert moves(more, "claude-desktop") == [("clock", "clock")]
    assert home.own.read_bytes() == own


def test_our_own_file_keeps_its_comments_and_its_servers_win(home):
    home.own.parent.mkdir(parents=True)
    home.own.write_text("# mine\nservers:\n  notes: # my notes\n    command: my-notes\n", encoding="utf-8")
    home.give("cursor", CURSOR)
    assert home.run("adopt", "--yes") == 0
    text = home.own.read_text(encoding="utf-8")
    assert text.startswith("# mine\nservers:\n  notes: # my notes\n    command: my-notes\n  clock:\n")
    assert [spec.name for spec in load_settings().servers] == ["notes", "clock", "notes-cursor"]


def test_a_configuration_named_on_the_command_line_is_named_in_the_entry_too(home, tmp_path):
    home.give("claude-desktop", DESKTOP)
    own = tmp_path / "elsewhere.toml"
    assert home.run("adopt", "--yes", "--config", str(own)) == 0
    entry = json.loads(home.file("claude-desktop").read_bytes())["mcpServers"]["toolcrib"]
    assert entry["args"][-3:] == ["--config", str(own), "serve"]
    assert [spec.name for spec in load_settings(own).servers] == ["clock"]


def test_modes_and_links_are_kept(home, tmp_path):
    real = tmp_path / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_bytes(CURSOR)
    real.chmod(0o640)
    link = home.file("cursor")
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    assert home.run("adopt", "--yes") == 0
    assert link.is_symlink()
    assert b"toolcrib" in real.read_bytes()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert stat.S_IMODE(home.own.stat().st_mode) == 0o600
    assert home.run("release", "--yes") == 0
    assert (link.is_symlink(), real.read_bytes()) == (True, CURSOR)


def test_backups_and_journal_are_for_their_owner_only(home):
    home.give_all()
    assert home.run("adopt", "--yes") == 0
    kept = [file for file in home.site.folder.rglob("*") if file.is_file()]
    assert len(kept) >= 5
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept} == {0o600}


def test_a_broken_file_costs_its_client_alone_unless_it_was_asked_for(home, capsys):
    home.give_all()
    home.give("windsurf", b'{"mcpServers": {')
    answer = home.answer(capsys, "adopt", "--dry-run")
    assert len(answer["clients"]) == 4
    assert [one["client"] for one in answer["skipped"]] == ["windsurf"]
    assert home.answer(capsys, "adopt", "windsurf", "--yes")["exit"] == 2


@pytest.mark.parametrize("words", [("nowhere",), ("cursr",)])
def test_an_unknown_client_is_a_mistake_of_usage(home, capsys, words):
    answer = home.answer(capsys, "adopt", *words, "--yes")
    assert (answer["exit"], answer["success"], answer["error"]["code"]) == (1, False, "VALIDATION_ERROR")
    assert ("did you mean 'cursor'" in answer["error"]["message"]) == (words == ("cursr",))


def test_a_client_without_a_file_is_named_as_such(home, capsys):
    answer = home.answer(capsys, "adopt", "cursor", "--yes")
    assert (answer["exit"], answer["error"]["code"]) == (2, "CONFIGURATION_ERROR")
    assert "connect cursor" in answer["error"]["message"]


def test_a_read_only_file_is_left_alone_and_so_is_everything_else(home, capsys):
    files = home.give_all()
    home.file("codex").chmod(0o444)
    answer = home.answer(capsys, "adopt", "--yes")
    assert (answer["exit"], "read-only" in answer["error"]["message"]) == (2, True)
    assert contents(files) == files
    assert not home.own.exists()
    assert not (home.site.folder / "journal.json").exists()


@pytest.mark.parametrize("fails_at", range(1, 11))
def test_when_a_file_cannot_be_put_in_place_nothing_is_half_done(home, fails_at):
    files = home.give_all()
    calls = []

    def replace(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == fails_at:
            raise OSError(28, "No space left on device")
        os.replace(source, target)

    plan = plan_adoption(home.site, OsKeyring())
    with pytest.raises(ConfigurationError, match="No space left"):
        home.carry_out(plan, replace=replace)
    assert contents(files) == files
    assert not home.own.exists()
    left = [file for file in home.site.folder.rglob("*") if file.is_file() and file.name != "lock"]
    assert left == []


def test_a_file_that_changed_after_the_plan_was_shown_is_not_overwritten(home):
    files = home.give_all()
    plan = plan_adoption(home.site, OsKeyring())
    home.give("codex", CODEX + b"# new\n")
    with pytest.raises(ConfigurationError, match="changed by someone else"):
        home.carry_out(plan)
    assert home.file("cursor").read_bytes() == files[home.file("cursor")]
    assert not home.own.exists()

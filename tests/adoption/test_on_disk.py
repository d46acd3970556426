"""What is on disk afterwards: only what was meant, and for its owner only."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adoption.home import CURSOR, contents
from toolcrib.adoption import writes
from toolcrib.adoption.adopt import plan_adoption
from toolcrib.adoption.own_file import OwnFile
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.errors import ConfigurationError


@pytest.mark.parametrize("suffix", ["yaml", "json", "toml"])
@pytest.mark.parametrize(
    ("where", "entry"),
    [
        ("half", {"command": "x", "args": ["a\ud800b"]}),
        ("half", {"command": "x", "env": {"K": "\udfff"}}),
        ("half", {"command": "x", "env": {"\udc80": "v"}}),
        ("half", {"url": "https://x.example/mcp", "headers": {"X": "\ud83d"}}),
        ("ha\ud800lf", {"command": "x"}),
    ],
)
def test_an_entry_our_file_cannot_hold_stays_and_the_others_move(home, capsys, tmp_path, suffix, where, entry):
    content = json.dumps({"mcpServers": {where: entry, "fine": {"command": "y"}}}, indent=1).encode()
    file = home.give("cursor", content)
    own = tmp_path / f"own.{suffix}"
    answer = home.answer(capsys, "adopt", "--yes", "--config", str(own))
    assert answer["exit"] == 0
    found = json.loads(file.read_bytes())["mcpServers"]
    assert (set(found), found[where]) == ({where, "toolcrib"}, entry)
    assert "half a character" in answer["clients"][0]["stays"][0]["why"]
    assert list(OwnFile.read(own).servers) == ["fine"]
    assert home.run("release", "--yes", "--config", str(own)) == 0
    assert file.read_bytes() == content


def test_what_no_file_can_hold_is_not_added(home):
    done = subprocess.run(
        [sys.executable, "-m", "toolcrib", "add", "x", "--", "cmd", b"\xff"],
        check=False,
        capture_output=True,
        timeout=30,
    )
    assert (done.returncode, b"Traceback" in done.stderr, b"cannot be edited" in done.stderr) == (2, False, True)
    assert not home.own.exists()


def test_a_file_that_is_not_what_was_written_does_not_take_the_place_of_the_old_one(home, monkeypatch):
    """As on a disk that lies: what is read back before the rename is not what was to be written."""
    files = home.give_all()
    usual = writes.read_bytes

    def damaged(path: Path, *limits: int) -> bytes:
        content = usual(path, *limits)
        return content[:-1] if ".mcp.json.toolcrib-" in path.name else content

    monkeypatch.setattr(writes, "read_bytes", damaged)
    with pytest.raises(ConfigurationError, match="read back"):
        home.carry_out(plan_adoption(home.site, OsKeyring()))
    assert contents(files) == files
    assert not home.own.exists()


def test_our_own_file_and_the_state_folder_become_private_and_release_gives_the_mode_back(home, monkeypatch, tmp_path):
    monkeypatch.delenv("TOOLCRIB_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    home.give("cursor", CURSOR)
    home.own.parent.mkdir(parents=True)
    home.own.write_text("# mine\n", encoding="utf-8")
    home.own.chmod(0o644)
    assert home.run("adopt", "--yes") == 0
    assert stat.S_IMODE(home.own.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state" / "toolcrib").stat().st_mode) == 0o700
    assert stat.S_IMODE(home.site.folder.stat().st_mode) == 0o700
    assert home.run("release", "--yes") == 0
    assert stat.S_IMODE(home.own.stat().st_mode) == 0o644
    assert home.own.read_text(encoding="utf-8") == "# mine\n"


def test_a_failed_adopt_leaves_our_file_its_mode(home):
    home.give_all()
    home.own.parent.mkdir(parents=True)
    home.own.write_text("# mine\n", encoding="utf-8")
    home.own.chmod(0o644)

    def replace(source: Path, target: Path) -> None:
        if target == home.file("codex"):
            raise OSError(28, "No space left on device")
        os.replace(source, target)

    with pytest.raises(ConfigurationError):
        home.carry_out(plan_adoption(home.site, OsKeyring()), replace=replace)
    assert (stat.S_IMODE(home.own.stat().st_mode), home.own.read_text(encoding="utf-8")) == (0o644, "# mine\n")


def test_a_file_made_for_a_client_is_its_owners_alone(home):
    assert home.run("connect", "codex") == 0
    assert stat.S_IMODE(home.file("codex").stat().st_mode) == 0o600


@pytest.mark.parametrize("words", [("add", "x", "--", "y"), ("adopt", "--yes"), ("connect", "cursor")])
def test_a_state_folder_that_cannot_be_used_is_named_and_nothing_is_written(home, capsys, monkeypatch, tmp_path, words):
    (tmp_path / "taken").touch()
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "taken"))
    file = home.give("cursor", CURSOR)
    answer = home.answer(capsys, *words)
    assert (answer["exit"], str(tmp_path / "taken") in answer["error"]["message"]) == (2, True)
    assert file.read_bytes() == CURSOR

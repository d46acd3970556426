from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.adoption.home import CURSOR, DESKTOP, contents
from toolcrib.adoption.adopt import plan_adoption
from toolcrib.adoption.release import plan_release
from toolcrib.config.documents import parse_document
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.errors import ConfigurationError


def servers(file: Path, key: str = "mcpServers") -> list[str]:
    return list(parse_document(file.read_bytes(), file)[key])


def test_everything_comes_back_byte_for_byte(home, capsys):
    files = home.give_all()
    assert home.run("adopt", "--yes") == 0
    answer = home.answer(capsys, "release", "--yes")
    assert (answer["exit"], answer["done"]) == (0, True)
    assert {one["how"] for one in answer["clients"]} == {"restored"}
    assert contents(files) == files
    assert not home.own.exists()
    assert [file.name for file in home.site.folder.rglob("*") if file.is_file()] == ["lock"]


def test_our_own_file_comes_back_byte_for_byte_too(home):
    home.give_all()
    home.own.parent.mkdir(parents=True)
    home.own.write_bytes(b"# mine\r\nservers: # none\r\n")
    assert home.run("adopt", "cursor", "--yes") == 0
    assert home.run("adopt", "--yes") == 0
    assert home.run("release", "--yes") == 0
    assert home.own.read_bytes() == b"# mine\r\nservers: # none\r\n"


def test_a_server_two_clients_had_leaves_with_the_last_of_them(home):
    files = home.give_all()
    assert home.run("adopt", "--yes") == 0
    assert home.run("release", "cursor", "--yes") == 0
    assert home.file("cursor").read_bytes() == files[home.file("cursor")]
    assert servers_of_ours(home) == ["clock", "notes-vscode", "wiki"]
    assert home.run("release", "claude-desktop", "--yes") == 0
    assert servers_of_ours(home) == ["notes-vscode", "wiki"]
    assert home.run("release", "--yes") == 0
    assert contents(files) == files
    assert not home.own.exists()


def servers_of_ours(home) -> list[str]:
    return list(parse_document(home.own.read_bytes(), home.own)["discovery"]["servers"])


def test_what_the_user_added_meanwhile_stays_and_the_rest_is_merged(home, capsys):
    file = home.give("claude-desktop", DESKTOP)
    assert home.run("adopt", "--yes") == 0
    text = file.read_text(encoding="utf-8").replace('"mcpServers": {', '"mcpServers": {\n    "mine": {"command": "m"},')
    file.write_text(text.replace('"dark"', '"light"'), encoding="utf-8")
    answer = home.answer(capsys, "release", "--yes")
    assert answer["clients"][0]["how"] == "merged"
    document = json.loads(file.read_bytes())
    assert document == {
        "mcpServers": {"mine": {"command": "m"}, "clock": json.loads(DESKTOP)["mcpServers"]["clock"]},
        "theme": "light",
    }
    assert not home.own.exists()
    kept = Path(answer["clients"][0]["remarks"][0].partition(": ")[2])
    assert kept.read_bytes() == DESKTOP


def test_servers_added_to_the_client_later_and_adopted_later_come_back_too(home):
    file = home.give("cursor", b'{"mcpServers": {"a": {"command": "a"}}}')
    assert home.run("adopt", "--yes") == 0
    document = json.loads(file.read_bytes())
    document["mcpServers"]["b"] = {"command": "b"}
    file.write_text(json.dumps(document), encoding="utf-8")
    assert home.run("adopt", "--yes") == 0
    assert servers(file) == ["toolcrib"]
    assert home.run("release", "--yes") == 0
    assert json.loads(file.read_bytes()) == {"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}


def test_an_entry_the_user_put_back_alone_is_left_as_it_is(home, capsys):
    file = home.give("cursor", b'{"mcpServers": {"a": {"command": "a"}}}')
    assert home.run("adopt", "--yes") == 0
    file.write_bytes(b'{"mcpServers": {"a": {"command": "other"}}}')
    answer = home.answer(capsys, "release", "--yes")
    assert "in the file again" in answer["clients"][0]["remarks"][0]
    assert file.read_bytes() == b'{"mcpServers": {"a": {"command": "other"}}}'


def test_a_server_changed_in_our_file_is_the_users_now(home, capsys):
    home.give("cursor", b'{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}}')
    assert home.run("adopt", "--yes") == 0
    assert home.run("disable", "a") == 0
    answer = home.answer(capsys, "release", "--yes")
    assert answer["removed"] == ["b"]
    assert "a was changed" in answer["remarks"][0]
    assert servers_of_ours(home) == ["a"]


def test_a_slip_in_our_own_file_does_not_keep_the_clients_from_getting_theirs_back(home, capsys):
    files = home.give_all()
    assert home.run("adopt", "--yes") == 0
    home.own.write_text("servers: [", encoding="utf-8")
    answer = home.answer(capsys, "release", "--yes")
    assert (answer["exit"], "can't be read" in answer["remarks"][0]) == (0, True)
    assert contents(files) == files
    assert home.own.read_text(encoding="utf-8") == "servers: ["


def test_servers_added_to_our_file_stay_there(home):
    files = home.give_all()
    assert home.run("adopt", "--yes") == 0
    assert home.run("add", "extra", "--", "extra-server") == 0
    assert home.run("release", "--yes") == 0
    assert contents(files) == files
    assert servers_of_ours(home) == ["extra"]


def test_a_deleted_client_file_is_given_back(home):
    file = home.give("cursor", CURSOR)
    assert home.run("adopt", "--yes") == 0
    file.unlink()
    assert home.run("release", "--yes") == 0
    assert file.read_bytes() == CURSOR


def test_releasing_when_nothing_is_adopted_is_no_mistake(home, capsys):
    assert home.run("release", "--yes") == 0
    assert "Nothing is adopted" in capsys.readouterr().out
    assert home.answer(capsys, "release", "--yes")["clients"] == []


def test_a_dry_run_of_release_writes_nothing(home, capsys):
    files = home.give_all()
    assert home.run("adopt", "--yes") == 0
    adopted = contents({**files, home.own: b""})
    assert home.run("release", "--dry-run") == 0
    assert home.run("release") == 1
    assert contents(adopted) == adopted


class _PowerCut(BaseException):
    pass


@pytest.mark.parametrize("cut_at", range(1, 11))
def test_after_a_crash_at_any_step_of_adopting_release_puts_everything_back(home, cut_at, monkeypatch):
    files = home.give_all()
    _crash(home, monkeypatch, cut_at)
    assert home.run("release", "--yes") == 0
    assert contents(files) == files
    assert not home.own.exists()


@pytest.mark.parametrize("cut_at", range(1, 11))
def test_after_a_crash_at_any_step_adopting_again_finishes_it(home, cut_at, monkeypatch):
    files = home.give_all()
    _crash(home, monkeypatch, cut_at)
    assert home.run("adopt", "--yes") == 0
    assert servers_of_ours(home) == ["clock", "notes", "notes-vscode", "wiki"]
    assert home.run("release", "--yes") == 0
    assert contents(files) == files
    assert not home.own.exists()


def _crash(home, monkeypatch, cut_at: int) -> None:
    """Adopt and lose power at the given rename: nothing after it happens, the putting back included."""
    calls = []

    def replace(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) >= cut_at:
            raise _PowerCut
        os.replace(source, target)

    plan = plan_adoption(home.site, OsKeyring())
    with monkeypatch.context() as patch:
        patch.setattr("toolcrib.adoption.steps._all_undone", lambda *_: True)
        with pytest.raises(_PowerCut):
            home.carry_out(plan, replace=replace)


@pytest.mark.parametrize("fails_at", range(1, 6))
def test_a_release_that_fails_leaves_everything_adopted_and_can_be_tried_again(home, fails_at):
    files = home.give_all()
    assert home.run("adopt", "--yes") == 0
    # Something of the user's, so that our own file is written and not just deleted.
    assert home.run("add", "extra", "--", "extra-server") == 0
    adopted = contents({**files, home.own: b""})
    calls = []

    def replace(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == fails_at:
            raise OSError(5, "Input/output error")
        os.replace(source, target)

    plan = plan_release(home.site, OsKeyring())
    with pytest.raises(ConfigurationError, match="Input/output"):
        home.carry_out(plan, replace=replace)
    assert contents(adopted) == adopted
    assert home.run("release", "--yes") == 0
    assert contents(files) == files


def test_a_damaged_journal_is_reported_and_nothing_is_touched(home, capsys):
    files = home.give_all()
    assert home.run("adopt", "--yes") == 0
    adopted = contents(files)
    (home.site.folder / "journal.json").write_bytes(b"{")
    assert home.answer(capsys, "release", "--yes")["exit"] == 2
    assert contents(files) == adopted


def test_one_home_has_one_file_that_servers_are_adopted_into(home, tmp_path, capsys):
    home.give_all()
    assert home.run("adopt", "cursor", "--yes") == 0
    answer = home.answer(capsys, "adopt", "codex", "--yes", "--config", str(tmp_path / "other.yaml"))
    assert (answer["exit"], "release" in answer["error"]["message"]) == (2, True)

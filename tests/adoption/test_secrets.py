from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import keyring
import pytest

from tests.adoption.home import CURSOR, contents
from tests.memory_keyring import MemoryKeyring
from tests.resolving import resolve_launch
from toolcrib.adoption.adopt import plan_adoption
from toolcrib.adoption.journal import Seal
from toolcrib.adoption.secrets import moved_to_vault, opened, sealed
from toolcrib.config.load import load_settings
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.engine.open_gateway import open_gateway
from toolcrib.errors import ConfigurationError, NeedsConfiguration

SECRETS = {"notes.NOTES_TOKEN": "s3cr3t-n0tes", "wiki.Authorization": "w1k1-t0ken"}


@pytest.fixture
def backend():
    usual = keyring.get_keyring()
    backend = MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(usual)


def test_plaintext_secrets_move_to_the_keyring_and_are_on_no_disk_any_more(home, backend):
    files = home.give_all()
    assert home.run("adopt", "--yes", "--secrets", "keyring") == 0
    assert backend.kept == {("toolcrib", name): value for name, value in SECRETS.items()}
    written = [*files, home.own, *(file for file in home.site.folder.rglob("*") if file.is_file())]
    for file in written:
        for secret in SECRETS.values():
            assert secret.encode() not in file.read_bytes()
    text = home.own.read_text(encoding="utf-8")
    assert "NOTES_TOKEN: ${keyring:notes.NOTES_TOKEN}" in text
    assert "Authorization: Bearer ${keyring:wiki.Authorization}" in text
    assert "DIR: /n" in text


def test_the_secrets_are_there_again_at_launch(home, backend):
    home.give_all()
    assert home.run("adopt", "--yes", "--secrets", "keyring") == 0
    specs = {spec.name: spec for spec in load_settings().servers}
    notes = resolve_launch(specs["notes"].launch, {}, server="notes", from_keyring=OsKeyring().get)
    assert notes.env == {"NOTES_TOKEN": "s3cr3t-n0tes", "DIR": "/n"}
    wiki = resolve_launch(specs["wiki"].launch, {}, server="wiki", from_keyring=OsKeyring().get)
    assert wiki.headers == {"Authorization": "Bearer w1k1-t0ken"}
    with pytest.raises(NeedsConfiguration, match=r"keyring:notes\.NOTES_TOKEN"):
        resolve_launch(specs["notes"].launch, {}, server="notes")


TELLS_ITS_TOKEN = """
import os
from mcp.server import MCPServer
server = MCPServer("teller")
@server.tool()
def tell() -> str:
    return os.environ["TELLER_TOKEN"]
server.run()
"""


async def test_a_server_started_by_the_gateway_gets_its_secret(home, backend):
    entry = {"command": sys.executable, "args": ["-c", TELLS_ITS_TOKEN], "env": {"TELLER_TOKEN": "t3ller-s3cret"}}
    home.give("cursor", json.dumps({"mcpServers": {"teller": entry}}).encode())
    assert home.run("adopt", "--yes", "--secrets", "keyring") == 0
    assert b"t3ller" not in home.own.read_bytes()
    async with open_gateway() as gateway:
        result = await gateway.execute_tool("teller", "tell", {})
    assert "t3ller-s3cret" in result.result.text


def test_release_puts_the_secrets_back_and_empties_the_keyring(home, backend):
    files = home.give_all()
    assert home.run("adopt", "--yes", "--secrets", "keyring") == 0
    assert home.run("release", "--yes") == 0
    assert contents(files) == files
    assert backend.kept == {}


def test_release_says_when_the_keyring_lost_a_secret_and_touches_nothing(home, backend, capsys):
    files = home.give_all()
    assert home.run("adopt", "--yes", "--secrets", "keyring") == 0
    adopted = contents(files)
    backend.kept.clear()
    answer = home.answer(capsys, "release", "--yes")
    assert (answer["exit"], "notes.NOTES_TOKEN" in answer["error"]["message"]) == (2, True)
    assert contents(files) == adopted


def test_the_same_server_in_a_second_client_is_recognised_behind_its_references(home, backend, capsys):
    home.give("cursor", CURSOR)
    assert home.run("adopt", "--yes", "--secrets", "keyring") == 0
    notes = {"command": "notes", "env": {"NOTES_TOKEN": "s3cr3t-n0tes", "DIR": "/n"}}
    file = home.give("windsurf", json.dumps({"mcpServers": {"notes": notes}}).encode())
    before = file.read_bytes()
    answer = home.answer(capsys, "adopt", "--yes", "--secrets", "keyring")
    assert answer["clients"][0]["moves"][0]["as"] == "notes"
    assert not any(b"s3cr3t" in one.read_bytes() for one in home.site.folder.rglob("*.bak"))
    assert home.run("release", "cursor", "--yes") == 0
    assert ("toolcrib", "notes.NOTES_TOKEN") in backend.kept
    assert home.run("release", "--yes") == 0
    assert file.read_bytes() == before


@pytest.mark.parametrize("refuses", SECRETS)
def test_a_keyring_that_refuses_stops_everything(home, backend, capsys, refuses):
    files = home.give_all()
    backend.refuses = refuses
    answer = home.answer(capsys, "adopt", "--yes", "--secrets", "keyring")
    assert (answer["exit"], answer["error"]["code"]) == (2, "CONFIGURATION_ERROR")
    assert contents(files) == files
    assert backend.kept == {}
    assert not home.own.exists()


def test_secrets_leave_the_keyring_again_when_a_file_cannot_be_written(home, backend):
    files = home.give_all()
    plan = plan_adoption(home.site, OsKeyring(), to_vault=True)

    def replace(*_) -> None:
        raise OSError(30, "Read-only file system")

    with pytest.raises(ConfigurationError):
        home.carry_out(plan, replace=replace)
    assert (backend.kept, contents(files)) == ({}, files)


def test_secrets_stay_in_the_keyring_when_something_could_not_be_put_back(home, backend):
    home.give_all()
    cursor, codex = home.file("cursor"), home.file("codex")

    def replace(source: Path, target: Path) -> None:
        if target == codex:
            cursor.write_bytes(cursor.read_bytes() + b"// Cursor was here\n")
            raise OSError(28, "No space left on device")
        os.replace(source, target)

    with pytest.raises(ConfigurationError):
        home.carry_out(plan_adoption(home.site, OsKeyring(), to_vault=True), replace=replace)
    assert ("toolcrib", "notes.NOTES_TOKEN") in backend.kept
    assert home.run("release", "--yes") == 0
    assert b"s3cr3t-n0tes" in cursor.read_bytes()
    assert backend.kept == {}


def test_the_secrets_of_claude_code_are_in_no_backup_and_come_back(home, backend, claude):
    entry = {"command": "notes", "args": [], "env": {"NOTES_TOKEN": "s3cr3t-n0tes"}}
    file = home.give("claude-code", json.dumps({"mcpServers": {"notes": entry}}).encode())
    assert home.run("adopt", "--yes", "--secrets", "keyring") == 0
    kept = [file, home.own, *(one for one in home.site.folder.rglob("*") if one.is_file())]
    assert not any(b"s3cr3t-n0tes" in one.read_bytes() for one in kept)
    assert home.run("release", "--yes") == 0
    assert json.loads(file.read_bytes()) == {"mcpServers": {"notes": entry}}
    assert backend.kept == {}


def test_a_machine_without_a_keyring_is_told_so_and_nothing_is_written(home, capsys):
    usual = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.fail.Keyring())
    try:
        files = home.give_all()
        answer = home.answer(capsys, "adopt", "--yes", "--secrets", "keyring")
        assert (answer["exit"], "--secrets keep" in answer["error"]["hint"]) == (2, True)
        assert contents(files) == files
    finally:
        keyring.set_keyring(usual)


def test_without_the_extra_the_error_names_it_and_nothing_is_written(home):
    files = home.give_all()
    program = (
        "import sys; sys.modules['keyring'] = None\n"
        "from toolcrib.cli.main import main\n"
        "sys.exit(main(['adopt', '--yes', '--secrets', 'keyring']))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert "toolcrib[keyring]" in done.stderr
    assert contents(files) == files


def test_only_plaintext_under_telling_names_is_taken():
    entry = {
        "env": {"A_TOKEN": "x", "B_KEY": "${B_KEY}", "C_SECRET": "", "PLAIN": "y", "D_PASSWORD": "p$$w"},
        "headers": {"Authorization": "Bearer ${T}", "X-Api-Key": "k", "Accept": "json"},
    }
    changed, found = moved_to_vault("s", entry)
    assert found == {"s.A_TOKEN": "x", "s.D_PASSWORD": "p$$w", "s.X-Api-Key": "k"}
    assert changed["env"] == {
        **entry["env"],
        "A_TOKEN": "${keyring:s.A_TOKEN}",
        "D_PASSWORD": "${keyring:s.D_PASSWORD}",
    }
    assert changed["headers"] == {**entry["headers"], "X-Api-Key": "${keyring:s.X-Api-Key}"}


@pytest.mark.parametrize("text", ['{"k": "a\\"b\\\\ü"}', '{"k": "a\\"b\\\\\\u00fc"}', "k = 'a\"b\\ü'"])
def test_a_sealed_backup_opens_to_the_same_bytes(backend, text):
    OsKeyring().put("s.k", 'a"b\\ü')
    hidden, seals = sealed(text.encode(), {"s.k": 'a"b\\ü'})
    assert b'"b' not in hidden
    assert opened(hidden, seals, OsKeyring()) == text.encode()


def test_a_secret_written_in_an_unknown_way_is_not_left_in_a_backup(backend):
    with pytest.raises(ConfigurationError):
        sealed(b'{"k": "\\u0061"}', {"s.k": "a"})
    assert opened(b"plain", {"mark": Seal("s.k", "json")}, OsKeyring()) == b"plain"

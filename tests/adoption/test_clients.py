from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.adoption.home import CODEX
from toolcrib.adoption.client_file import ClientFile
from toolcrib.adoption.own_launch import own_launch
from toolcrib.clients.own_entry import OwnLaunch
from toolcrib.clients.table import CLIENTS
from toolcrib.config.documents import parse_document

WRITABLE = [name for name, client in CLIENTS.items() if not client.has_program]


@pytest.mark.parametrize("name", WRITABLE)
def test_the_entry_written_for_a_client_is_read_back_as_the_gateway_itself(home, name, capsys):
    answer = home.answer(capsys, "connect", name)
    assert (answer["exit"], answer["done"]) == (0, True)
    (listed,) = ClientFile.read(CLIENTS[name], home.file(name)).listed(home.site.address)
    assert (listed.key, listed.is_gateway) == ("toolcrib", True)
    again = home.answer(capsys, "connect", name)
    assert (again["exit"], again["done"]) == (0, False)
    assert home.run("release", name, "--yes") == 0
    assert not home.file(name).exists()


def test_connecting_leaves_the_servers_of_the_client_alone(home, capsys):
    file = home.give("codex", CODEX)
    assert home.run("connect", "codex", "--dry-run") == 0
    assert file.read_bytes() == CODEX
    assert home.run("connect", "codex") == 0
    assert list(parse_document(file.read_bytes(), file)["mcp_servers"]) == ["wiki", "toolcrib"]
    assert not home.own.exists()
    assert home.run("release", "--yes") == 0
    assert file.read_bytes() == CODEX


def test_a_name_that_is_taken_by_someone_else_is_left_to_them(home):
    file = home.give("cursor", b'{"mcpServers": {"toolcrib": {"command": "a-workshop-app"}}}')
    assert home.run("connect", "cursor") == 0
    assert list(json.loads(file.read_bytes())["mcpServers"]) == ["toolcrib", "toolcrib-2"]


def test_servers_under_another_known_key_are_found_and_written_there(home):
    file = home.give("cursor", b'{"servers": {"a": {"command": "a"}}}')
    assert home.run("adopt", "--yes") == 0
    assert list(json.loads(file.read_bytes())["servers"]) == ["toolcrib"]


def test_a_file_that_is_nothing_but_the_map_stays_one(home):
    file = home.give("cursor", b'{"a": {"command": "a"}}')
    assert home.run("adopt", "--yes") == 0
    assert list(json.loads(file.read_bytes())) == ["toolcrib"]


@pytest.mark.parametrize("content", [b"[]", b'{"mcpServers": []}', b'{"mcpServers": 1}', b"\xff\xfe{\x00}\x00"])
def test_a_file_of_another_kind_is_not_written(home, capsys, content):
    file = home.give("cursor", content)
    assert home.answer(capsys, "connect", "cursor")["exit"] == 2
    assert file.read_bytes() == content


def test_the_program_beside_this_python_is_named(tmp_path):
    python = tmp_path / "bin" / "python"
    program = tmp_path / "bin" / "toolcrib"
    program.parent.mkdir()
    assert own_launch({}, None, python=python) == OwnLaunch(str(python), ("-m", "toolcrib", "serve"))
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    assert own_launch({}, None, python=python) == OwnLaunch(str(program), ("serve",))


def test_an_environment_that_uv_will_throw_away_is_not_named(tmp_path):
    python = tmp_path / "uv" / "archive-v0" / "abc" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (python.parent / "toolcrib").touch(0o755)
    runner = tmp_path / "tools" / "uvx"
    runner.parent.mkdir()
    runner.touch(0o755)
    assert own_launch({"PATH": str(runner.parent)}, None, python=python) == OwnLaunch(
        str(runner), ("toolcrib", "serve")
    )


def test_what_the_shell_says_about_files_is_written_down_for_programs_that_have_no_shell(tmp_path):
    launch = own_launch({"TOOLCRIB_HOME": "rel"}, tmp_path / "c.yaml", python=Path(sys.executable))
    assert launch.args[-3:] == ("--config", str(tmp_path / "c.yaml"), "serve")
    assert launch.env == {"TOOLCRIB_HOME": str(Path.cwd() / "rel")}
    assert os.access(launch.command, os.X_OK)

"""Servers that nobody has read yet are read before a command answers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.machine import BOUND_SECONDS, Machine, eventually, rows
from toolcrib.config.load import load_settings
from toolcrib.discovery.reads import ConfiguredReads
from toolcrib.gateway import Gateway
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import ServerSpec
from toolcrib.model.view import ToolSummary
from toolcrib.storage.sqlite import SqliteCatalog
from toolcrib.upstream.watchdog_process import read_process


class Stuck:
    """A server that never says a word; each start of it leaves a line in a file."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._file = machine.home / "starts.txt"

    @property
    def starts(self) -> int:
        return len(self._file.read_text("utf-8").splitlines()) if self._file.exists() else 0

    def configure(self, *others: str, more: str = "") -> None:
        code = f"import sys; open({str(self._file)!r}, 'a').write('started\\n'); sys.stdin.read()"
        self._machine.workshop("stuck", *others, more=more)
        entries = json.loads(self._machine.paths.config_file.read_text("utf-8").splitlines()[0].partition(": ")[2])
        entries["stuck"] = {"command": sys.executable, "args": ["-I", "-S", "-c", code]}
        self._machine.configure(f"servers: {json.dumps(entries)}\n{more}")


def test_the_first_list_reads_the_servers_and_the_second_starts_nothing(machine: Machine) -> None:
    machine.workshop("friendly", "broken")
    first = machine.run("list")
    assert first.code == 0
    assert rows(first.out)["friendly"][:3] == ["· friendly", "ready", "7"]
    assert "Reading servers (2)" in first.err
    log = machine.paths.logs_dir / "friendly.log"
    before = log.stat().st_size
    second = machine.run("list")
    assert second.out == first.out
    assert second.err == ""
    assert log.stat().st_size == before


def test_demo_servers_are_found_by_a_first_search(machine: Machine) -> None:
    entries = ", ".join(
        f"{name}: {{command: {sys.executable}, args: [-m, toolcrib.demo.{name}], passEnv: [PYTHONPATH]}}"
        for name in ("clock", "words")
    )
    machine.configure(f"servers: {{{entries}}}")
    ran = machine.run("search", "what time is it", "--json")
    assert ran.code == 0
    assert ran.json["results"][0]["tool"] == "current_time"


def test_a_named_server_is_the_only_one_that_is_read(machine: Machine) -> None:
    machine.workshop("friendly", "broken")
    assert len(machine.run("tools", "friendly", "--json").json["tools"]) == 7
    assert [file.name for file in machine.paths.logs_dir.iterdir()] == ["friendly.log"]


def test_a_server_that_hangs_is_waited_for_no_longer_than_asked(machine: Machine) -> None:
    Stuck(machine).configure()
    ran = machine.run("list", "--wait", "0.5")
    assert ran.code == 0
    assert "stuck could not be read within 0.5 s (--wait) and will not be waited for again" in ran.err
    assert rows(ran.out)["stuck"][:3] == ["✗ stuck", "error", "-"]
    assert "not read within 0.5 s (just now)" in ran.out


def test_a_server_that_hung_is_named_and_not_started_again_by_commands_that_do_not_name_it(machine: Machine) -> None:
    stuck = Stuck(machine)
    stuck.configure("friendly")
    machine.run("list", "--wait", "2")
    assert stuck.starts == 1
    listed, searched = machine.run("list"), machine.run("search", "ping")
    assert (listed.err, stuck.starts) == ("", 1)
    assert rows(listed.out)["stuck"][:2] == ["✗ stuck", "error"]
    assert rows(listed.out)["friendly"][:3] == ["· friendly", "ready", "7"]
    assert "friendly:ping" in searched.out
    assert searched.err == "not searched: stuck could not be read just now: not read within 2 s\n"
    assert "Reading servers (1)" in machine.run("tools", "stuck", "--wait", "0.5").err
    assert stuck.starts == 2


def test_servers_that_had_no_turn_before_the_wait_was_over_are_read_by_the_next_command(machine: Machine) -> None:
    Stuck(machine).configure("friendly", more="maxParallelDiscoveries: 1")
    first = machine.run("list", "--wait", "1")
    assert "1 server has not been read yet; the next command goes on" in first.err
    assert rows(first.out)["friendly"][0] == "? friendly"
    assert rows(machine.run("list").out)["friendly"][0] == "· friendly"


@pytest.mark.parametrize(
    ("code", "age", "is_tried"),
    [
        ("SERVER_CONNECTION_ERROR", 0, False),
        ("SERVER_CONNECTION_ERROR", 3600, True),
        ("TOOL_EXECUTION_TIMEOUT", 3600, False),
        ("", 3600, True),
    ],
)
def test_a_failure_is_tried_again_after_a_while_unless_the_server_hung(
    code: str, age: float, is_tried: bool, machine: Machine
) -> None:
    machine.workshop("friendly")
    (spec,) = load_settings().servers
    catalog = SqliteCatalog(machine.paths.catalog)
    catalog.record_failure("friendly", spec.launch_key, "it was down", time.time() - age, code)
    catalog.close()
    assert (rows(machine.run("list").out)["friendly"][0] == "· friendly") is is_tried


def test_a_server_that_cannot_start_is_shown_with_the_reason(machine: Machine) -> None:
    machine.configure("servers: {gone: {command: no-such-program}}")
    ran = machine.run("list")
    assert ran.code == 0
    assert rows(ran.out)["gone"] == ["✗ gone", "error", "-", "the command 'no-such-program' was not found (just now)"]


def test_an_error_that_nobody_foresaw_is_the_trouble_of_one_server(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.workshop("friendly", "broken")
    read = ConfiguredReads.read

    async def spoilt(reader: ConfiguredReads, spec: ServerSpec, slot: Any) -> ServerReading:
        if spec.name == "broken":
            raise ValueError(spec.name)
        return await read(reader, spec, slot)

    monkeypatch.setattr(ConfiguredReads, "read", spoilt)
    ran = machine.run("list")
    assert ran.code == 0
    assert rows(ran.out)["friendly"][:3] == ["· friendly", "ready", "7"]
    assert rows(ran.out)["broken"] == [
        "✗ broken",
        "error",
        "-",
        "reading it failed inside the gateway: ValueError (just now)",
    ]


def test_an_error_that_nobody_foresaw_while_tools_are_counted_does_not_end_the_command(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.workshop("friendly", "broken")
    list_tools = Gateway.list_tools

    async def spoilt(gateway: Gateway, server: str, **options: Any) -> list[ToolSummary]:
        if server == "broken":
            raise ValueError(server)
        return await list_tools(gateway, server, **options)

    monkeypatch.setattr(Gateway, "list_tools", spoilt)
    ran = machine.run("list")
    assert ran.code == 0
    assert rows(ran.out)["friendly"][:3] == ["· friendly", "ready", "7"]
    assert "✗ broken: reading it failed inside the gateway: ValueError" in ran.err


def test_a_changed_entry_is_read_again(machine: Machine) -> None:
    machine.workshop("friendly")
    machine.run("list")
    text = machine.paths.config_file.read_text("utf-8").replace('"friendly"]', '"broken"]')
    machine.configure(text)
    assert [tool["name"] for tool in machine.run("tools", "friendly", "--json").json["tools"]] == ["look"]


@pytest.mark.skipif(sys.platform == "win32", reason="no interrupt can be sent to one process there")
@pytest.mark.parametrize("command", ["list", "doctor"])
def test_an_interrupt_while_servers_are_read_leaves_no_child(command: str, machine: Machine, tmp_path: Path) -> None:
    started = tmp_path / "started"
    code = f"import os, pathlib, time; pathlib.Path({str(started)!r}).write_text(str(os.getpid())); time.sleep(600)"
    machine.configure(f"servers: {json.dumps({'stuck': {'command': sys.executable, 'args': ['-c', code]}})}")
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with machine.start(command, **pipes) as process:
        eventually(lambda: started.exists() and started.read_text("utf-8"))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=BOUND_SECONDS)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert read_process(int(started.read_text("utf-8"))) is None

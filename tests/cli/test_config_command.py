"""config show, validate, sources and reload."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.machine import CONFIG, TOOLS, Machine, check_golden, eventually
from tests.fakes import tool
from toolcrib.catalog.store import GatewayRow
from toolcrib.engine.gateway_rows import ask_to_reload, running_gateways
from toolcrib.storage.sqlite import SqliteCatalog

SOURCES = """
  sources:
    - {type: docker-mcp, path: ~/.docker/mcp-servers.json}
    - {type: claude-desktop, path: ~/claude.json}
    - {type: windsurf, path: ~/.windsurf/mcp.json}
"""


@pytest.fixture
def sourced(machine: Machine) -> Machine:
    home = Path(os.environ["HOME"])
    (home / ".docker").mkdir()
    docker = {"mcpServers": {"jira": {"command": "never-started"}}}
    (home / ".docker" / "mcp-servers.json").write_text(json.dumps(docker), "utf-8")
    (home / "claude.json").write_text("{ this is no JSON", "utf-8")
    machine.configure(CONFIG + SOURCES)
    machine.fill(TOOLS)
    return machine


@pytest.mark.parametrize("action", ["show", "sources", "validate"])
def test_each_action_prints_what_we_keep(action: str, sourced: Machine) -> None:
    home = os.environ["HOME"]
    for suffix, more in (("txt", []), ("json", ["--json"])):
        ran = sourced.run("config", action, *more)
        assert ran.code == (2 if action == "validate" else 0)
        check_golden(f"config_{action}.{suffix}", ran.out, home=home)


def test_a_valid_configuration_is_exit_0_and_rules_are_reviewed(seeded: Machine) -> None:
    ran = seeded.run("config", "validate")
    assert ran.code == 0
    assert "✓ The configuration is valid, with" in ran.out
    assert "rule 4 (database:*) matches no known tool" in ran.out
    assert seeded.run("config", "validate", "--json").json["valid"] is True


def test_what_a_profile_names_and_nothing_is_called_is_warned_of(machine: Machine) -> None:
    machine.configure(
        """
        servers: {files: {command: never-started}}
        profiles:
          typed: {servers: [files, flies], tags: [reading], toolRules: [{pattern: ['delte_*'], enabled: false}]}
          well: {servers: ['f*'], toolRules: [{pattern: ['delete_*'], enabled: false}]}
        """
    )
    machine.fill({"files": [tool("read_file"), tool("delete_file")]})
    ran = machine.run("config", "validate", "--json")
    assert (ran.code, ran.json["warnings"]) == (
        0,
        [
            "profile typed: no server is called flies",
            "profile typed: no known tool has the tag reading",
            "profile typed: rule 1 (delte_*) matches no known tool",
        ],
    )


def test_every_problem_is_printed_with_its_place_in_the_file(machine: Machine) -> None:
    machine.configure("discovery: {callTimeout: soon, toolRules: [{pattern: ['/(/']}], servers: {odd: {command: 7}}}")
    ran = machine.run("config", "validate", "--json")
    assert ran.code == 2
    assert {problem["path"] for problem in ran.json["problems"]} >= {"discovery.callTimeout"}
    assert all(problem["file"].endswith("toolcrib.yaml") for problem in ran.json["problems"])
    assert "discovery.callTimeout" in machine.run("config", "validate").out


def test_a_pattern_that_cannot_be_read_is_a_problem_of_its_file(machine: Machine) -> None:
    machine.configure("toolRules: [{pattern: ['ok', '/(/']}]")
    problem = machine.run("config", "validate", "--json").json["problems"][0]
    assert problem["file"].endswith("toolcrib.yaml")
    assert problem["path"] == "toolRules[0].pattern[1]"
    assert machine.run("list").code == 2


def test_an_unreadable_file_is_a_problem_not_a_crash(machine: Machine) -> None:
    machine.configure("a: [")
    assert machine.run("config", "validate").code == 2
    assert machine.run("config", "show", "--json").json["error"]["code"] == "CONFIGURATION_ERROR"
    assert machine.run("--config", "nowhere.yaml", "config", "validate").code == 2


def test_no_secret_of_an_entry_is_shown(machine: Machine) -> None:
    machine.configure("servers: {a: {command: x, args: [--key, s3cret], env: {TOKEN: s3cret}}}")
    machine.fill({"a": []})
    for command in (["config", "show"], ["list"], ["config", "validate"], ["config", "sources"]):
        for more in ([], ["--json"]):
            ran = machine.run(*command, *more)
            assert "s3cret" not in ran.out + ran.err


def test_reload_without_a_gateway_says_so(seeded: Machine) -> None:
    ran = seeded.run("config", "reload")
    assert ran.code == 0
    assert "No gateway is running" in ran.out
    told = {"servers": 3, "running": [], "reloaded": [], "needRestart": []}
    assert seeded.run("config", "reload", "--json").json == told


def test_reload_refuses_a_configuration_that_cannot_be_used(machine: Machine) -> None:
    machine.configure("discovery: 7")
    assert machine.run("config", "reload").code == 2


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that writes a file when it is asked to reload."""
    heard = tmp_path / "heard"
    code = (
        "import pathlib, signal, sys\n"
        f"signal.signal(signal.SIGHUP, lambda *_: pathlib.Path({str(heard)!r}).write_text('yes'))\n"
        "print('ready', flush=True)\n"
        "while True: signal.pause()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process, heard
        process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_reload_reaches_a_running_gateway_and_no_process_that_took_its_number(
    listener: tuple[subprocess.Popen[str], Path], seeded: Machine
) -> None:
    process, heard = listener
    now = time.time()
    catalog = SqliteCatalog(seeded.paths.catalog)
    catalog.gateway_started(GatewayRow("library", os.getpid(), "library", now + 5, now))
    catalog.gateway_started(GatewayRow("before", process.pid, "stdio", now - 3600, now))
    assert seeded.run("config", "reload", "--json").json["reloaded"] == []
    catalog.gateway_started(GatewayRow("real", process.pid, "stdio", now, now))
    rows = [row for row in running_gateways(catalog, now) if row.owner == "real"]
    assert ask_to_reload(rows, now) == []
    assert [row.owner for row in ask_to_reload(rows, now + 10)] == ["real"]
    eventually(heard.exists)
    catalog.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_the_gateway_people_run_takes_over_an_edit_on_reload(machine: Machine) -> None:
    machine.workshop("friendly", more="reloadInterval: 3600\n")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with machine.start("-v", "serve", **pipes) as gateway:
        try:
            eventually(lambda: machine.run("config", "reload", "--json").json["reloaded"] == [gateway.pid])
            machine.workshop("friendly", "hostile", more="reloadInterval: 3600\n")
            assert machine.run("config", "reload", "--json").json["reloaded"] == [gateway.pid]
            assert gateway.stderr is not None
            assert any("configuration reloaded: 2 servers" in line for line in gateway.stderr)
        finally:
            gateway.send_signal(signal.SIGTERM)
            gateway.wait(20)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_reload_names_the_settings_that_wait_for_a_restart(machine: Machine) -> None:
    machine.workshop("friendly")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with machine.start("serve", "--http", "--port", "0", **pipes) as gateway:
        try:
            eventually(lambda: machine.run("config", "reload", "--json").json["reloaded"] == [gateway.pid])
            assert "estart" not in machine.run("config", "reload").out
            machine.workshop("friendly", more="http: {port: 9000, path: /other, requestTimeout: 5}\nmaxCalls: 7\n")
            assert machine.run("config", "reload", "--json").json["needRestart"] == ["http.path", "http.port"]
            told = machine.run("config", "reload").out
            assert "Restart the gateway to use the new values of http.path, http.port." in told
            assert gateway.stderr is not None
            assert any("restart the gateway to use the new values of http.port" in line for line in gateway.stderr)
        finally:
            gateway.send_signal(signal.SIGTERM)
            gateway.wait(20)


def test_the_profiles_are_shown_with_what_each_allows(machine: Machine) -> None:
    machine.configure(
        "profile: work\nprofiles: {work: {servers: [a, b]}, careful: {readOnly: true, tags: [safe]}, all: {}}"
    )

    shown = machine.run("config", "show").out

    assert "  work (holds for every client here): servers a, b\n" in shown
    assert "  careful: tools tagged safe; only reading\n" in shown
    assert "  all: everything\n" in shown
    told = json.loads(machine.run("config", "show", "--json").out)
    assert (told["profile"], told["profiles"]["work"]["servers"]) == ("work", ["a", "b"])

"""logs and doctor."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.machine import WORKSHOP, Machine, check_golden
from toolcrib.lan import libp2p_process

TROUBLED = {
    "friendly": {"command": sys.executable, "args": ["-I", "-S", str(WORKSHOP), "friendly"]},
    "broken": {"command": sys.executable, "args": ["-I", "-S", str(WORKSHOP), "broken"]},
    "gone": {"command": "no-such-program"},
    "homeless": {"command": sys.executable, "cwd": "/no/such/folder"},
    "needy": {"command": sys.executable, "args": ["${A_VARIABLE_NOBODY_SET}"]},
    "crashing": {"command": sys.executable, "args": ["-c", "raise SystemExit('no licence')"]},
    "slow": {"command": sys.executable, "args": ["-c", "import time; time.sleep(600)"], "startupTimeout": 0.5},
    "far": {"url": "http://127.0.0.1:1/mcp"},
}


def test_the_last_lines_of_a_server_are_shown_readable(machine: Machine) -> None:
    machine.workshop("friendly")
    machine.run("list")
    ran = machine.run("logs", "friendly")
    assert ran.code == 0
    assert ran.out == "workshop friendly ready \ufffd]0;title\ufffd\n"
    assert machine.run("logs", "friendly", "--json").json["lines"] == [ran.out.strip()]


def test_a_key_in_an_older_log_is_not_shown(machine: Machine) -> None:
    machine.workshop("friendly")
    machine.paths.logs_dir.mkdir()
    key = "gh\x1b[0mp_" + "a1B2c3" * 6
    (machine.paths.logs_dir / "friendly.log").write_text(f"started with {key}\n", "utf-8")
    assert machine.run("logs", "friendly").out == "started with ***\n"


def test_only_so_many_lines_are_shown(machine: Machine) -> None:
    machine.workshop("friendly")
    machine.paths.logs_dir.mkdir()
    (machine.paths.logs_dir / "friendly.log").write_text("".join(f"line {n}\n" for n in range(100)), "utf-8")
    assert machine.run("logs", "friendly", "-n", "2").out == "line 98\nline 99\n"
    assert len(machine.run("logs", "friendly").out.splitlines()) == 50


@pytest.mark.parametrize("name", ["nobody", "../audit", "/etc/passwd", ""])
def test_only_the_logs_of_configured_servers_are_shown(name: str, machine: Machine) -> None:
    machine.workshop("friendly")
    assert machine.run("logs", name).code == 2
    assert machine.run("logs", name, "--json").json["error"]["code"] == "SERVER_NOT_FOUND"


def test_a_silent_server_has_no_lines_and_that_is_fine(machine: Machine) -> None:
    machine.configure("servers: {quiet: {command: x}, far: {url: 'http://127.0.0.1:1/mcp'}}")
    assert "has written nothing yet" in machine.run("logs", "quiet").err
    ran = machine.run("logs", "far")
    assert ran.code == 0
    assert "is remote" in ran.err


def test_the_doctor_tries_every_server_and_gives_each_failure_a_code_and_a_next_step(machine: Machine) -> None:
    machine.configure(f"servers: {json.dumps(TROUBLED)}\n")
    ran = machine.run("doctor", "--json")
    assert ran.code == 3
    by_name = {server["name"]: server for server in ran.json["servers"]}
    assert {name: server.get("code") for name, server in by_name.items()} == {
        "friendly": None,
        "broken": "TOOL_EXECUTION_ERROR",
        "gone": "COMMAND_NOT_FOUND",
        "homeless": "WORKING_FOLDER_NOT_FOUND",
        "needy": "SERVER_NEEDS_CONFIGURATION",
        "crashing": "SERVER_CONNECTION_ERROR",
        "slow": "SERVER_TIMEOUT",
        "far": "SERVER_CONNECTION_ERROR",
    }
    assert by_name["friendly"] | {"seconds": 0} == {
        "name": "friendly",
        "ok": True,
        "seconds": 0,
        "toolCount": 7,
        "called": "ping",
    }
    assert all(server["nextStep"] and server["message"] for name, server in by_name.items() if name != "friendly")


def test_the_doctor_does_not_wait_long_for_a_tool_that_hangs(machine: Machine) -> None:
    program, log = Path(__file__).parents[1] / "journeys" / "programs" / "scripted_server.py", Path.cwd() / "log"
    entry = {"command": sys.executable, "args": ["-I", "-S", str(program), str(log), "legacy"]}
    machine.configure(f"discovery: {json.dumps({'listTimeout': 2, 'servers': {'hanging': entry}})}")

    (checked,) = machine.run("doctor", "--json").json["servers"]

    assert (checked["code"], "look: no answer within 2 s" in checked["message"]) == ("SERVER_TIMEOUT", True)


def test_the_doctors_words(machine: Machine) -> None:
    chosen = {name: TROUBLED[name] for name in ("friendly", "broken", "gone", "needy")}
    machine.configure(f"servers: {json.dumps(chosen)}\n")
    ran = machine.run("doctor")
    assert ran.code == 3
    check_golden("doctor.txt", ran.out)


def test_a_tool_whose_arguments_can_not_be_checked_is_told_of_by_doctor_inspect_and_the_log(machine: Machine) -> None:
    machine.workshop("outside")
    reason = "the schema refers to 'https://example.com/q.json', which is never fetched"
    ran = machine.run("doctor")
    assert ran.code == 0
    assert f"outside:find: its arguments can't be checked before a call: {reason}" in ran.out
    assert machine.run("doctor", "--json").json["servers"][0]["notChecked"] == {"find": reason}
    assert f"Arguments are not checked:\n  before the call: {reason}" in machine.run("inspect", "outside", "find").out
    assert machine.run("inspect", "outside", "find", "--json").json["notChecked"] == reason
    assert "notChecked" not in machine.run("inspect", "outside", "other", "--json").json
    assert f"outside:find: cannot validate arguments ({reason}); passing them on unchecked" in (
        machine.run("execute", "outside", "find", "--args", '{"q": 1}').err
    )


def test_a_healthy_machine_is_exit_0_also_for_chosen_servers(machine: Machine) -> None:
    machine.configure(f"servers: {json.dumps(TROUBLED)}\n")
    ran = machine.run("doctor", "friendly")
    assert ran.code == 0
    assert "1 of 1 servers work." in ran.out
    assert machine.run("doctor", "nobody").code == 2


def test_an_entry_that_cannot_be_read_is_not_healthy(machine: Machine) -> None:
    machine.configure("servers: {odd: {command: 7}}")
    ran = machine.run("doctor", "--json")
    assert ran.code == 3
    assert ran.json["problems"][0]["path"].startswith("servers.odd")


def test_the_doctor_tells_of_an_extra_that_the_settings_ask_for(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libp2p_process, "_MODULES", ("toolcrib", "a_package_nobody_installed"))
    machine.workshop("friendly")
    assert machine.run("doctor").code == 0
    monkeypatch.setenv("TOOLCRIB_PEERS_ENABLED", "true")
    monkeypatch.setenv("TOOLCRIB_PEERS_LIBP2P", "true")
    ran = machine.run("doctor")
    assert ran.code == 3
    assert "pip install 'toolcrib[libp2p]'" in " ".join(ran.out.split())
    (problem,) = machine.run("doctor", "--json").json["problems"]
    assert "GMP" in problem["message"]
    assert machine.run("doctor", "friendly").code == 0


def test_the_doctor_notices_an_audit_log_that_was_changed(machine: Machine) -> None:
    machine.workshop("friendly")
    assert machine.run("doctor", "--json").json["audit"] == {"whole": True}
    log = machine.paths.audit_log
    log.write_bytes(log.read_bytes().replace(b"friendly", b"fiendish", 1))

    assert "The audit log is not as it was written: line 1 was changed" in machine.run("doctor").out
    assert machine.run("doctor", "--json").json["audit"]["whole"] is False


def test_the_doctor_says_whether_a_sandbox_can_be_had(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib.upstream.sandbox.which", lambda _name: None)
    monkeypatch.setattr(sys, "platform", "linux")
    entry = {"command": sys.executable, "args": ["-c", ""], "sandbox": True}
    machine.configure(json.dumps({"servers": {"shut": entry}}))

    assert "bubblewrap (the program bwrap) is not installed" in machine.run("doctor").out
    told = machine.run("doctor", "--json").json
    assert told["sandbox"]["reason"] == "not_installed"
    assert told["servers"][0]["code"] == "SANDBOX_UNAVAILABLE"

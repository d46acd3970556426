"""`toolcrib discover` and `toolcrib warm` with real server processes."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import yaml

from tests.cli.machine import Machine


def test_discover_reads_each_server_and_shows_what_it_offers(machine: Machine) -> None:
    machine.workshop("friendly", "broken")
    ran = machine.run("discover")

    assert ran.code == 0
    assert "✓ friendly" in ran.out
    assert "2 of 2 servers were read." in ran.out
    assert len(machine.run("tools", "friendly", "--json", "--wait", "0").json["tools"]) == 7


def test_discover_reads_although_everything_is_known(machine: Machine) -> None:
    machine.workshop("friendly")
    machine.run("discover")
    log = machine.paths.logs_dir / "friendly.log"
    before = log.stat().st_size
    machine.run("discover", "friendly")

    assert log.stat().st_size > before


def test_a_server_that_fails_is_told_and_the_others_are_read(machine: Machine) -> None:
    machine.workshop("friendly")
    machine.configure(_with_entry(machine, "gone", {"command": "no-such-program"}))
    ran = machine.run("discover", "--json")

    assert ran.code == 3
    by_name = {server["name"]: server for server in ran.json["servers"]}
    assert (by_name["friendly"]["ok"], by_name["friendly"]["toolCount"]) == (True, 7)
    assert by_name["gone"]["code"] == "SERVER_CONNECTION_ERROR"
    assert "not found" in by_name["gone"]["message"]


def test_at_the_deadline_there_is_what_was_read(machine: Machine) -> None:
    machine.workshop("friendly")
    hanging = {"command": sys.executable, "args": ["-c", "import time; time.sleep(600)"]}
    machine.configure(_with_entry(machine, "stuck", hanging))
    ran = machine.run("discover", "--deadline", "6", "--retries", "0")

    assert ran.code == 3
    assert "✓ friendly" in ran.out
    assert "not read within the 6 s allowed" in ran.out
    assert "1 of 2 servers were read." in ran.out


def test_a_name_that_nobody_has_is_told_with_the_nearest(machine: Machine) -> None:
    machine.workshop("friendly")
    for command in ("discover", "warm"):
        ran = machine.run(command, "frendly")
        assert ran.code == 2
        assert "Did you mean: friendly?" in ran.err


def test_warm_reads_what_is_not_known_and_then_nothing(machine: Machine) -> None:
    machine.workshop("friendly", "broken")
    first = machine.run("warm", "--json")
    assert first.code == 0
    counted = {key: first.json[key] for key in ("totalServers", "successful", "failed", "cachedTools")}
    assert counted == {"totalServers": 2, "successful": 2, "failed": 0, "cachedTools": 8}
    assert not list(machine.paths.cache_dir.glob("tools_*.json"))  # the catalog knows them
    log = machine.paths.logs_dir / "friendly.log"
    before = log.stat().st_size
    second = machine.run("warm")
    assert "2 servers: 0 read now, 2 already fresh, 0 failed; 8 tools known" in second.out
    assert log.stat().st_size == before
    machine.run("warm", "--force", "friendly")
    assert log.stat().st_size > before


def test_warm_leaves_alone_what_another_command_has_read_and_an_old_file_does_no_harm(machine: Machine) -> None:
    machine.workshop("friendly")
    old = machine.paths.cache_dir / "tools_friendly.json"
    old.parent.mkdir(parents=True, exist_ok=True)
    invented = {"cached_at": time.time(), "server": "friendly", "tools": [{"definition": {"name": "invented"}}]}
    old.write_text(json.dumps(invented), encoding="utf-8")
    assert len(machine.run("tools", "friendly", "--json").json["tools"]) == 7
    log = machine.paths.logs_dir / "friendly.log"
    before = log.stat().st_size

    told = machine.run("warm", "--json").json
    assert (told["fresh"], told["cachedTools"]) == (1, 7)
    assert log.stat().st_size == before
    assert not old.exists()


def test_warm_counts_a_server_that_fails(machine: Machine) -> None:
    machine.configure("servers: {gone: {command: no-such-program}}")
    ran = machine.run("warm")

    assert ran.code == 3
    assert "✗ gone: failed: the command 'no-such-program' was not found" in ran.out
    assert "1 server: 0 read now, 0 already fresh, 1 failed; 0 tools known" in ran.out


def test_warm_says_what_it_did_to_each_server(machine: Machine) -> None:
    machine.workshop("friendly", "broken")
    machine.run("warm", "friendly")
    machine.configure(_with_entry(machine, "gone", {"command": "no-such-program"}))
    ran = machine.run("warm")

    assert ran.out.splitlines() == [
        "· friendly: already fresh, 7 tools",
        "✓ broken: read now, 1 tool",
        "✗ gone: failed: the command 'no-such-program' was not found",
        "",
        "3 servers: 1 read now, 1 already fresh, 1 failed; 8 tools known",
    ]
    assert ran.err.startswith("Warming servers (3)…\n")
    assert "✓ friendly: already fresh" in ran.err
    told = machine.run("warm", "--json").json
    assert [server["action"] for server in told["servers"]] == ["fresh", "fresh", "failed"]
    assert (told["read"], told["fresh"], told["failed"]) == (0, 2, 1)


def test_a_server_that_is_switched_off_is_not_read_and_said_to_be(machine: Machine) -> None:
    machine.workshop("friendly")
    assert machine.run("disable", "friendly").code == 0
    for command in ("discover", "warm", "doctor"):
        ran = machine.run(command, "friendly")
        assert ran.code == 2
        assert "the server 'friendly' is disabled" in ran.err


def test_with_no_server_there_is_nothing_to_do(machine: Machine) -> None:
    machine.configure("servers: {}")

    assert machine.run("discover").out == "No server is configured.\n"
    assert machine.run("warm").out == "No server is configured.\n"
    assert machine.run("warm", "--json").json["totalServers"] == 0


def test_with_every_server_disabled_it_says_how_to_find_what_enables_them(machine: Machine) -> None:
    machine.configure("servers: {a: {command: never-started, enabled: false}}")
    for command in ("discover", "warm", "doctor"):
        ran = machine.run(command)
        assert (ran.code, ran.out) == (0, "No server is enabled. `toolcrib list` says of each what switches it on.\n")


def test_with_discovery_switched_off_it_says_so(machine: Machine) -> None:
    machine.configure("discovery: {enabled: false, servers: {a: {command: never-started}}}")
    assert "discovery.enabled: false" in machine.run("warm").out
    named = machine.run("warm", "a")
    assert named.code == 2
    assert "the server 'a' is disabled, as all are (discovery.enabled: false)" in named.err


def test_a_number_of_retries_that_is_none_is_refused(machine: Machine) -> None:
    assert machine.run("warm", "--retries", "-1").code == 1


def test_warm_tries_a_server_that_hangs_once_and_not_for_minutes(machine: Machine) -> None:
    starts = _hanging(machine, more="retryWithin: 1")
    ran = machine.run("warm", "--force")

    assert ran.code == 3
    assert "✗ stuck: failed: did not finish starting within 1 s" in ran.out
    assert "✓ friendly: read now, 7 tools" in ran.out
    assert len(starts.read_text("utf-8").splitlines()) == 1


def test_warm_tells_of_each_attempt_that_failed(machine: Machine) -> None:
    starts = _hanging(machine, more="retryDelay: 0.05")
    ran = machine.run("warm", "--retries", "1")

    assert "… stuck: trying again: did not finish starting within 1 s" in ran.err
    assert "✗ stuck: failed" in ran.err
    assert len(starts.read_text("utf-8").splitlines()) == 2


def _hanging(machine: Machine, more: str) -> Path:
    """A server that never says a word, beside a friendly one; each start of it leaves a line in the file."""
    starts = machine.home / "starts.txt"
    code = f"import sys; open({str(starts)!r}, 'a').write('started\\n'); sys.stdin.read()"
    machine.workshop("friendly", more=more)
    entry = {"command": sys.executable, "args": ["-I", "-S", "-c", code], "startupTimeout": 1}
    machine.configure(_with_entry(machine, "stuck", entry))
    return starts


def _with_entry(machine: Machine, name: str, entry: dict[str, object]) -> str:
    document = yaml.safe_load(machine.paths.config_file.read_text("utf-8"))
    document["servers"][name] = entry
    return json.dumps(document)

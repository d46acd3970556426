"""execute: results, failures, arguments, streams and interruption, with a real small server."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.machine import BOUND_SECONDS, Machine, check_golden, eventually
from toolcrib.upstream.watchdog_process import read_process

DENY = "toolRules: [{pattern: ['*picture*'], enabled: false}]\n"


@pytest.fixture
def workshop(machine: Machine) -> Machine:
    machine.workshop("friendly", "asking", more=DENY)
    return machine


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("execute_success", ["friendly", "ping"], 0),
        ("execute_shape", ["friendly:shape"], 0),
        ("execute_weather", ["asking:weather"], 0),
        ("execute_failing", ["friendly", "fail"], 3),
        ("execute_asking", ["asking", "ask"], 3),
        ("execute_sign_in", ["asking", "sign_in"], 3),
        ("execute_disabled", ["friendly", "picture"], 4),
        ("execute_no_server", ["nobody", "ping"], 2),
        ("execute_no_tool", ["friendly", "pong"], 2),
        ("execute_bad_arguments", ["friendly", "echo", "--args", '{"text": 7}'], 1),
        ("execute_missing_arguments", ["friendly", "echo"], 1),
    ],
)
def test_each_outcome_has_its_words_its_json_and_its_exit_code(
    name: str, arguments: list[str], code: int, workshop: Machine
) -> None:
    ran = workshop.run("execute", *arguments)
    assert ran.code == code
    check_golden(f"{name}.txt", ran.out)
    as_json = workshop.run("execute", *arguments, "--json")
    assert as_json.code == code
    assert as_json.err == ""
    assert as_json.json["success"] is (code == 0)
    check_golden(f"{name}.json", as_json.out)


@pytest.mark.parametrize(
    "given", ["{", "[1]", "7", "@nowhere.json", "[" * 100_000, '{"text": "\\ud800"}', '{"text": "' + "[" * 3]
)
def test_arguments_that_are_no_json_object_are_exit_1(given: str, workshop: Machine) -> None:
    assert workshop.run("execute", "friendly", "echo", "--args", given).code == 1
    ran = workshop.run("execute", "friendly", "echo", "--args", given, "--json")
    assert ran.code == 1
    assert ran.json["error"]["code"] == "VALIDATION_ERROR"


def test_arguments_come_from_a_file_or_from_standard_input(
    workshop: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "arguments.json"
    file.write_bytes(b'\xef\xbb\xbf{"text": "from a file"}')
    ran = workshop.run("execute", "friendly", "echo", "--args", f"@{file}", "--json")
    assert ran.json == {"success": True, "result": "from a file"}
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"text": "from a pipe"}'))
    assert workshop.run("execute", "friendly", "echo", "--args", "-", "--json").json["result"] == "from a pipe"


def test_a_stream_shows_progress_and_messages_before_the_result(workshop: Machine) -> None:
    ran = workshop.run("execute", "friendly", "talk", "--stream")
    assert ran.code == 0
    check_golden("execute_stream.txt", ran.out)


def test_a_stream_of_json_is_one_value_a_line(workshop: Machine) -> None:
    ran = workshop.run("execute", "friendly", "talk", "--stream", "--json")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [next(iter(line)) for line in lines] == ["progress", "log", "success"]
    assert lines[0]["progress"]["message"] == "half\ufffd[2J"
    assert "\x1b" not in ran.out


def test_every_execution_is_in_the_audit_log(workshop: Machine) -> None:
    workshop.run("execute", "friendly", "picture")
    workshop.run("execute", "friendly", "ping")
    records = [json.loads(line) for line in workshop.paths.audit_log.read_text("utf-8").splitlines()]
    assert [record["tool"] for record in records] == ["picture", "ping"]


def test_executing_one_tool_starts_no_other_server(machine: Machine, tmp_path: Path) -> None:
    machine.workshop("friendly", "hostile")
    assert machine.run("execute", "friendly", "ping").code == 0
    assert [file.name for file in machine.paths.logs_dir.iterdir()] == ["friendly.log"]


def test_a_server_that_cannot_be_reached_is_a_failed_execution_not_a_missing_tool(machine: Machine) -> None:
    machine.configure("servers: {gone: {command: no-such-program}}")
    for _ in range(2):
        ran = machine.run("execute", "gone", "anything", "--json")
        assert ran.code == 3
        assert ran.json["error"]["code"] == "SERVER_CONNECTION_ERROR"


def test_an_unknown_server_starts_nothing(workshop: Machine) -> None:
    assert workshop.run("execute", "nobody", "ping").code == 2
    assert not workshop.paths.logs_dir.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no interrupt can be sent to one process there")
@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_an_interrupt_is_exit_130_and_leaves_no_child(
    stream: list[str], workshop: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = tmp_path / "waiting"
    entry = json.loads(workshop.paths.config_file.read_text("utf-8").partition("servers: ")[2].splitlines()[0])
    entry["friendly"]["env"] = {"WAITING_FILE": str(waiting)}
    workshop.configure(f"servers: {json.dumps(entry)}\n")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    with workshop.start("execute", "friendly", "wait", *stream, **pipes) as process:
        eventually(lambda: waiting.exists() and waiting.read_text())
        child = int(waiting.read_text())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=BOUND_SECONDS)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert read_process(child) is None


def test_a_disabled_server_is_said_to_be_disabled(machine: Machine) -> None:
    machine.workshop("friendly")
    assert machine.run("disable", "friendly").code == 0

    ran = machine.run("execute", "friendly", "ping")

    assert ran.code == 2
    assert "'friendly' is disabled (`toolcrib enable friendly` switches it on)" in " ".join((ran.out + ran.err).split())

"""`toolcrib engine`: the engine that all clients of a person share."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from itertools import chain
from typing import Any

from toolcrib.cli.ages import ago
from toolcrib.cli.exits import FAILED, OK
from toolcrib.cli.following import follow
from toolcrib.cli.output import Output
from toolcrib.cli.running_engine import status_of
from toolcrib.cli.server_log import FollowedLog, last_lines
from toolcrib.cli.wording import counted, with_times
from toolcrib.config.paths import Paths
from toolcrib.connector.control import RESTART, STOP, told
from toolcrib.connector.place import EnginePlace, UnsafePlace, engine_place
from toolcrib.connector.start import CannotStart, holder, is_held, start_engine
from toolcrib.errors import ToolcribError
from toolcrib.model.clean_text import clean

# Running calls get their time first, then servers are stopped.
END_SECONDS = 30.0
PAUSE_SECONDS = 0.05
NONE_RUNS = "No engine runs. The next client starts one."


def run(options: argparse.Namespace) -> int:
    if sys.platform == "win32":
        raise ToolcribError("clients share no engine on Windows yet: each has a gateway of its own")
    actions: dict[str, Callable[[argparse.Namespace, Output, EnginePlace], int]] = {
        "status": _status,
        "start": _start,
        "stop": _stop,
        "restart": _restart,
        "logs": _logs,
    }
    return actions[options.action](options, Output.of(options), engine_place(os.environ))


def _need_answer(place: EnginePlace) -> dict[str, Any] | None:
    """The status of the engine that runs, None where none does; one that hangs is an error."""
    status = status_of(place)
    if status is None and is_held(place):
        raise ToolcribError(
            "an engine runs, but does not answer",
            hint=f"Wait a moment. If it stays like that, end it with `kill -9 {holder(place)}`: its clients start another one.",
        )
    return status


def _status(_: argparse.Namespace, output: Output, place: EnginePlace) -> int:
    status = _need_answer(place)
    if output.as_json:
        output.json({"running": False} if status is None else {"running": True, **status})
    elif status is None:
        output.out.write(NONE_RUNS)
    else:
        _print(status, output)
    return OK


def _print(status: dict[str, Any], output: Output) -> None:
    out = output.out
    age = ago(time.time() - status["startedAt"])
    memory = f"{status['memoryBytes'] / 1e6:.0f} MB"
    out.paragraph(f"Engine {status['version']}, process {status['pid']}, started {age}, {memory}", "", "bold")
    if status["http"]:
        out.write(f"HTTP clients are served at {status['http']}")
    parts: tuple[tuple[str, Callable[[dict[str, Any]], str]], ...] = (
        ("clients", _client_line),
        ("servers", _server_line),
        ("calls", _call_line),
    )
    for title, line in parts:
        out.write()
        out.write(f"{title.capitalize()}: {len(status[title]) or 'none'}")
        for one in status[title]:
            out.paragraph(line(one), "  ")


def _client_line(client: dict[str, Any]) -> str:
    config = f", {client['config']}" if client["config"] else ""
    return clean(f"{client['name'] or 'unknown'} in {client['folder']}{config}")


def _server_line(server: dict[str, Any]) -> str:
    users = ", ".join(with_times(name, count) for name, count in server["users"].items())
    return clean(f"{server['name']} ({server['transport']}){f': {users}' if users else ''}")


def _call_line(call: dict[str, Any]) -> str:
    waits = ", waiting for an answer" if call.get("waitsForAnswer") else ""
    return clean(f"{call['client']} runs {call['server']}:{call['tool']} since {call['runningMs'] / 1000:.1f} s{waits}")


def _start(_: argparse.Namespace, output: Output, place: EnginePlace) -> int:
    started = _started(place)
    _tell(output, f"The engine runs, process {started['pid']}.", {"running": True, "pid": started["pid"]})
    return OK


def _stop(_: argparse.Namespace, output: Output, place: EnginePlace) -> int:
    status = _need_answer(place)
    if status is None:
        _tell(output, NONE_RUNS, {"stopped": False})
        return OK
    clients = len(status["clients"])
    told(place, STOP)
    if not _is_gone(place):
        return _still_there(output)
    left = f" {counted(clients, 'session')} of clients ended with it; restart the server there." if clients else ""
    _tell(output, f"The engine has ended.{left}", {"stopped": True, "clients": clients})
    return OK


def _restart(_: argparse.Namespace, output: Output, place: EnginePlace) -> int:
    if _need_answer(place) is not None:
        answer = told(place, RESTART)
        if answer is not None and answer.is_refused:
            raise ToolcribError(f"the engine that runs is not restarted: {answer.text}")
        if not _is_gone(place):
            return _still_there(output)
    started = _started(place)
    _tell(output, f"A new engine runs, process {started['pid']}.", {"running": True, "pid": started["pid"]})
    return OK


def _logs(options: argparse.Namespace, output: Output, _: EnginePlace) -> int:
    file = Paths.of(os.environ).engine_log
    followed = FollowedLog(file)
    lines = followed.look()[-options.lines :] if options.follow else last_lines(file, options.lines)
    if output.as_json and not options.follow:
        output.json({"lines": lines})
        return OK
    for line in chain(lines, follow(followed.look, output.out.stream) if options.follow else ()):
        if output.as_json:
            output.json_line({"line": line})
        else:
            output.out.write(line)
    return OK


def _started(place: EnginePlace) -> dict[str, Any]:
    try:
        start_engine(place)
    except (CannotStart, UnsafePlace, OSError) as problem:
        raise ToolcribError(f"the engine can't be started: {problem}") from problem
    return _need_answer(place) or {"pid": None}


def _is_gone(place: EnginePlace) -> bool:
    """Wait until the engine has let go of its place."""
    deadline = time.monotonic() + END_SECONDS
    while is_held(place):
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE_SECONDS)
    return True


def _still_there(output: Output) -> int:
    _tell(output, f"The engine has not ended within {END_SECONDS:g} s; it may wait for a server.", {"stopped": False})
    return FAILED


def _tell(output: Output, text: str, value: dict[str, Any]) -> None:
    if output.as_json:
        output.json(value)
    else:
        output.out.paragraph(text)

"""What an engine says of itself: who is there, which servers run, what they do. No secret, no argument of a call."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

from toolcrib.calls.running_calls import RunningCall
from toolcrib.engine.engine import Engine
from toolcrib.host.stdio_guest import StdioGuest
from toolcrib.host.workspaces import SharedWorkspaces
from toolcrib.server.process_memory import resident_bytes
from toolcrib.version import VERSION


def engine_status(
    engine: Engine, workspaces: SharedWorkspaces, clients: Iterable[StdioGuest], started_at: float
) -> dict[str, Any]:
    """The status as plain JSON."""
    return {
        "pid": os.getpid(),
        "version": VERSION,
        "startedAt": started_at,
        "memoryBytes": resident_bytes(),
        "clients": [client.status() for client in clients],
        "workspaces": workspaces.status(),
        "servers": _servers(engine),
        "calls": [_call(call, time.time()) for call in engine.running_calls],
    }


def _servers(engine: Engine) -> list[dict[str, Any]]:
    """The processes and connections that are open now, each once."""
    shown = {spec.process_key: spec for spec in engine.entries()}
    running = [spec for spec in shown.values() if engine.pool.status(spec).state == "connected"]
    return [
        {"name": spec.name, "transport": spec.launch.transport, "users": dict(engine.pool.users(spec))}
        for spec in running
    ]


def _call(call: RunningCall, now: float) -> dict[str, Any]:
    return {
        "client": call.client,
        "face": call.face,
        "server": call.server,
        "tool": call.tool,
        "runningMs": round((now - call.started_at) * 1000),
        "waitsForAnswer": call.waits_for_an_answer,
    }

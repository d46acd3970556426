"""A server over HTTP in the test's own loop that behaves, until it is called."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tests.fakes import tool
from tests.upstream.http_servers import Out, Script, Seen

OnCall = Callable[[Seen, Out], Awaitable[None]]


def remote_server(on_call: OnCall) -> Script:
    """A server of the newest revision with the tool `work`; `on_call` answers its calls."""
    results: dict[str, Any] = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
        "tools/list": {"tools": [tool("work")]},
    }

    async def answer(seen: Seen, out: Out) -> None:
        if seen.rpc == "tools/call":
            await on_call(seen, out)
        elif seen.rpc in results:
            await out.send(200, seen.answer({**results[seen.rpc], "resultType": "complete"}))
        else:
            await out.send(200, seen.error(-32601, "no such method"))

    return Script(answer)

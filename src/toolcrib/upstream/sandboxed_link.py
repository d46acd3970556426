"""A link to a server in a sandbox, with the proxy that it needs for as long as it lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from toolcrib.model.sandbox import Sandbox
from toolcrib.upstream.link import Link
from toolcrib.upstream.own_places import OwnPlaces
from toolcrib.upstream.sandbox import confined, outside
from toolcrib.upstream.sandbox_proxy import HostProxy

OpenLink = Callable[[Sequence[str], Mapping[str, str], str | None], Awaitable[Link]]

_serving: set[asyncio.Task[None]] = set()


async def open_sandboxed(
    open_link: OpenLink,
    server: str,
    argv: Sequence[str],
    sandbox: Sandbox,
    env: Mapping[str, str],
    folder: str | None,
    own: OwnPlaces,
) -> Link:
    """Start the server in its sandbox; raises SandboxUnavailable, and what `open_link` raises."""
    # In a thread: the first one is tried out.
    if not sandbox.hosts:
        words = await asyncio.to_thread(confined, server, argv, sandbox, env, folder, own)
        return await open_link(words, outside(env), None)
    proxy = HostProxy(sandbox.hosts, server=server)
    try:
        await proxy.open()
        words = await asyncio.to_thread(confined, server, argv, sandbox, env, folder, own, str(proxy.path))
        link = await open_link(words, outside(env), None)
    except BaseException:
        proxy.close()
        raise
    task = asyncio.create_task(proxy.close_after(link.wait_closed), name=f"proxy of {server}")
    _serving.add(task)
    task.add_done_callback(_serving.discard)
    return link

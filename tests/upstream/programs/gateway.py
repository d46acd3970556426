"""Behaves like a gateway: opens the given children under one watchdog, says all process ids, and waits to be killed."""

import asyncio
import json
import os
import sys

from toolcrib.upstream.child import Child
from toolcrib.upstream.stderr_ring import StderrRing
from toolcrib.upstream.watchdog import Watchdog


async def first_line(path, watchdog):
    line = asyncio.get_running_loop().create_future()
    child = await Child.spawn(
        [sys.executable, "-I", "-S", path],
        server="test",
        env=dict(os.environ),
        cwd=None,
        on_line=line.set_result,
        on_exit=lambda reason: None,
        stderr=StderrRing(),
        watchdog=watchdog,
        max_line_bytes=1000,
    )
    return [child.pid, *json.loads(await line)], child


async def main():
    watchdog = Watchdog()
    opened = [await first_line(path, watchdog) for path in sys.argv[1:]]
    print(json.dumps({"watchdog": watchdog.pid, "children": [pids for pids, _ in opened]}), flush=True)
    await asyncio.sleep(60)


asyncio.run(main())

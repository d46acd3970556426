"""Ten slow servers read five at a time, against one after the other.

    python -m bench.discovery [--delay SECONDS] [--json FILE]

Real processes that take `--delay` seconds to list their tools (2 by default). Both runs read the same servers with the same
service; the first start of the interpreter and of the watchdog is paid before either.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Sequence

from bench.report import Figure, Report, arguments
from toolcrib import DiscoveryOptions, MCPDiscoveryService, MCPServerConfig, Settings, open_discovery
from toolcrib.model.server import StdioLaunch

SERVER = """
import json, sys, time
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        answer["result"] = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                            "serverInfo": {"name": "slow", "version": "1"}}
    elif message["method"] == "tools/list":
        time.sleep(float(sys.argv[1]))
        answer["result"] = {"tools": [{"name": "wait", "inputSchema": {"type": "object"}}]}
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(answer), flush=True)
"""


def slow_servers(count: int, delay: float) -> list[MCPServerConfig]:
    # The name on the command line makes each a server of its own, with its own bucket.
    command = ("-I", "-S", "-c", SERVER, str(delay))
    names = [f"slow{number}" for number in range(count)]
    return [MCPServerConfig(name, StdioLaunch(sys.executable, (*command, name))) for name in names]


async def seconds_for(service: MCPDiscoveryService, servers: Sequence[MCPServerConfig], at_once: int) -> float:
    options = DiscoveryOptions(max_parallel_discoveries=at_once)
    began = time.monotonic()
    outcomes = await service.discover_servers(servers, options)
    assert all(len(outcome.tools) == 1 for outcome in outcomes), [outcome.error for outcome in outcomes]
    return time.monotonic() - began


async def measure(report: Report, delay: float) -> None:
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "TOOLCRIB_HOME": home}
        async with open_discovery(settings=Settings(), env=env) as service:
            await seconds_for(service, slow_servers(1, 0), 1)
            for count, share in ((10, delay), (5, delay / 2)):
                servers = slow_servers(count, share)
                sequential = await seconds_for(service, servers, 1)
                parallel = await seconds_for(service, servers, 5)
                what = f"{count} servers x {share:g} s"
                report.add(Figure(f"{what}, one after the other", sequential, "s"))
                report.add(Figure(f"{what}, five at a time", parallel, "s"))
                report.add(Figure(f"{what}, ratio", parallel / sequential, "", bar=0.225 if count == 10 else 0.3))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--delay", type=float, default=2.0, metavar="SECONDS", help="how long each server takes")
    options = parser.parse_args()
    report = Report("Discovering many servers")
    asyncio.run(measure(report, options.delay))
    report.finish(options.json)


if __name__ == "__main__":
    main()

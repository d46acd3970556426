"""Resident memory of the gateway with 1,000 tools, after searches and after calls.

python -m bench.memory [--json FILE]
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.catalog import QUERIES, TOOLS_PER_SERVER, fill_home
from bench.driver import Peer, toolcrib, toolcrib_environment
from bench.process import resident_megabytes
from bench.report import Figure, Report, arguments

SERVERS = 50
SEARCHES = 100
CALLS = 1_000
BAR_MEGABYTES = 100
WAIT_FOR_INPUT = 'import mcp, sys; print("ready", flush=True); sys.stdin.read()'


def memory_of_the_sdk() -> float:
    """What `import mcp` alone takes."""
    with subprocess.Popen(
        [sys.executable, "-c", WAIT_FOR_INPUT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        used = resident_megabytes(process.pid)
        process.stdin.close()
    return used


def measure(report: Report, home: Path) -> None:
    config = fill_home(home, SERVERS, live=["synthetic"])
    with Peer(toolcrib(config), "modern", toolcrib_environment(home)) as peer:
        peer.greet()
        report.add(Figure("gateway, before the first request", resident_megabytes(peer.pid), "MB"))
        for query in itertools.islice(itertools.cycle(QUERIES), SEARCHES):
            peer.call("search_tools", {"query": query})
        report.add(Figure(f"gateway, after {SEARCHES} searches", resident_megabytes(peer.pid), "MB", BAR_MEGABYTES))
        call = {"server": "synthetic", "tool": "echo", "arguments": {"text": "x" * 100}}
        for _ in range(CALLS):
            peer.call("execute_tool", call)
        report.add(Figure(f"gateway, after {CALLS} calls more", resident_megabytes(peer.pid), "MB", BAR_MEGABYTES))


def main() -> int:
    options = arguments(__doc__).parse_args()
    report = Report(f"memory: {SERVERS * TOOLS_PER_SERVER} tools on {SERVERS} servers, and one that is called")
    report.add(Figure('python -c "import mcp"', memory_of_the_sdk(), "MB"))
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as home:
        measure(report, Path(home))
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Resident memory of the gateway with 1,000 and with 15,000 tools, after searches and calls.

python -m bench.memory [--json FILE]
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from pathlib import Path

from bench.catalog import QUERIES, TOOLS_PER_SERVER, fill_home
from bench.driver import Peer, toolcrib, toolcrib_environment
from bench.process import peak_megabytes, program_megabytes, resident_megabytes
from bench.ready_home import compile_package, ready_home
from bench.report import Figure, Report, arguments

SERVERS = 50
MANY_SERVERS = 750
SEARCHES = 1_000
CALLS = 1_000
AFTER_USE = f"after {SEARCHES:,} searches and {CALLS:,} calls"
BAR_MEGABYTES = 85
MANY_BAR_MEGABYTES = 130


def measure_learning(report: Report, home: Path) -> None:
    """A gateway that meets a thousand tools for the first time: it works out what they mean while it is used."""
    home.mkdir()
    config = fill_home(home, SERVERS, live=["synthetic"])
    with Peer(toolcrib(config), "modern", toolcrib_environment(home)) as peer:
        peer.greet()
        report.add(Figure("new tools, before the first request", resident_megabytes(peer.pid), "MB"))
        use(peer)
        report.add(Figure(f"new tools, {AFTER_USE}", resident_megabytes(peer.pid), "MB", BAR_MEGABYTES))


def measure_known(report: Report, home: Path, servers: int, bar: float) -> None:
    """The gateway that somebody starts who has used it before."""
    name = f"{servers * TOOLS_PER_SERVER:,} known tools"
    config = ready_home(home, servers, live=["synthetic"])
    with Peer(toolcrib(config), "modern", toolcrib_environment(home)) as peer:
        peer.greet()
        report.add(Figure(f"{name}, before the first request", resident_megabytes(peer.pid), "MB"))
        use(peer)
        report.add(Figure(f"{name}, {AFTER_USE}", resident_megabytes(peer.pid), "MB", bar))
        report.add(Figure(f"{name}, at the peak", peak_megabytes(peer.pid), "MB"))


def use(peer: Peer) -> None:
    for query in itertools.islice(itertools.cycle(QUERIES), SEARCHES):
        peer.call("search_tools", {"query": query})
    call = {"server": "synthetic", "tool": "echo", "arguments": {"text": "x" * 100}}
    for _ in range(CALLS):
        peer.call("execute_tool", call)


def main() -> int:
    options = arguments(__doc__).parse_args()
    report = Report(f"memory: {TOOLS_PER_SERVER} tools on each server, and one server that is called")
    report.add(Figure('python -c "import mcp"', program_megabytes("import mcp"), "MB"))
    compile_package()
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        measure_learning(report, Path(folder) / "new")
        measure_known(report, Path(folder) / "known", SERVERS, BAR_MEGABYTES)
        measure_known(report, Path(folder) / "many", MANY_SERVERS, MANY_BAR_MEGABYTES)
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

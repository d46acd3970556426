"""How long a fresh gateway takes to its first answers, with 1, 20 and 100 servers in its catalogue.

    python -m bench.startup [--rounds N] [--json FILE]

Each round starts every case once, beside `python -c "import mcp"`, which any Python gateway on the SDK has to pay.
The catalogue is full and fresh, so no server process may be running when the first search is answered.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.catalogue import TOOLS_PER_SERVER, seed
from bench.driver import Peer, toolcrib, toolcrib_environment
from bench.process import children
from bench.report import Figure, Report, arguments, spread

SIZES = (1, 20, 100)
SHARED_IMPORTS = [sys.executable, "-c", "import mcp"]


def import_milliseconds() -> float:
    start = time.perf_counter()
    subprocess.run(SHARED_IMPORTS, check=True, timeout=60)
    return (time.perf_counter() - start) * 1_000


def first_answers(home: Path, config: Path) -> tuple[float, float]:
    """Milliseconds from the start of the process to the first tools/list and to the first search_tools."""
    with Peer(toolcrib(config), "legacy", toolcrib_environment(home)) as peer:
        peer.greet()
        tools = peer.ask("tools/list", {})["tools"]
        listed = (time.perf_counter() - peer.started) * 1_000
        found = peer.call("search_tools", {"query": "create an issue about a crash"})
        searched = (time.perf_counter() - peer.started) * 1_000
        started = children(peer.pid)
    if len(tools) != 5 or "create_issue" not in found["content"][0]["text"]:
        raise RuntimeError(f"not the expected answers: {found}")
    if started:
        raise RuntimeError(f"processes were started for a search: {started}")
    return listed, searched


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """One ratio for each round, in which both ran right after each other."""
    return [one / other for one, other in zip(ours, theirs, strict=True)]


def measure(rounds: int, folder: Path) -> dict[str, list[float]]:
    homes = {size: folder / str(size) for size in SIZES}
    configs = {}
    for size, home in homes.items():
        home.mkdir()
        configs[size] = seed(home, size)
    times: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        taken = {"import": import_milliseconds()}
        for size in SIZES:
            taken[f"list {size}"], taken[f"search {size}"] = first_answers(homes[size], configs[size])
        if number:  # the first round only fills the caches of the file system
            for name, milliseconds in taken.items():
                times.setdefault(name, []).append(milliseconds)
    return times


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=11, help="starts of each case (default 11)")
    options = parser.parse_args()
    report = Report(f"start-up: first answers with {TOOLS_PER_SERVER} tools on each of N servers")
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        times = measure(options.rounds, Path(folder))
    report.add(Figure('python -c "import mcp"', statistics.median(times["import"]), "ms"))
    for what in ("list", "search"):
        label = {"list": "tools/list", "search": "search_tools"}[what]
        for size in SIZES:
            report.add(Figure(f"to the first {label}, N={size}", statistics.median(times[f"{what} {size}"]), "ms"))
        growth = ratios(times[f"{what} 100"], times[f"{what} 1"])
        report.add(Figure(f"{label}, N=100 to N=1", statistics.median(growth), "x", 1.2, note=spread(growth)))
        floor = ratios(times[f"{what} 100"], times["import"])
        report.add(
            Figure(f'{label}, N=100 to "import mcp"', statistics.median(floor), "x", aim=1.5, note=spread(floor))
        )
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

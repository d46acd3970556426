"""How long a fresh gateway takes to its first answers, with 1, 20 and 100 servers in its catalog.

    python -m bench.startup [--rounds N] [--json FILE]

Each round starts every case once, beside `python -c "import mcp"`, which any Python gateway on the SDK has to pay; ours
does not load it for stdio. Our code is compiled first, as it is where it was installed.
The catalog is full and fresh and the search index is written, so no server process may be running when the first search
is answered. First come gateways in a process of their own, then what a client starts by default: a connector to an engine
that runs already (beside `python -I -c pass`), or that it has to start first.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.catalog import TOOLS_PER_SERVER
from bench.driver import Peer, connector, toolcrib, toolcrib_environment
from bench.process import children, cpu_seconds
from bench.ready_home import compile_package, ready_home
from bench.report import Figure, Report, arguments, spread
from bench.shared_home import shared_home
from tests.host.shared_engine import SharedWorkshop

SIZES = (1, 20, 100)
SHARED_IMPORTS = [sys.executable, "-c", "import mcp"]
BARE_PYTHON = [sys.executable, "-I", "-c", "pass"]
LIST, SEARCH, IMPORT = "tools/list", "search_tools", 'python -c "import mcp"'
BARE, RUNNING, STARTED = "python -I -c pass", "engine running", "no engine"
SHARED_SIZES = (1, 100)


@dataclass(frozen=True)
class Cost:
    """What passed since the process was started, in milliseconds: on the clock, and of processor time."""

    wall: float
    cpu: float


Costs = dict[tuple[str, int], list[Cost]]


def cost_of(command: Sequence[str]) -> Cost:
    """What a process takes from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, check=True, timeout=60)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(wall * 1_000, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1_000)


def first_answers(home: Path, config: Path) -> tuple[Cost, Cost]:
    """The cost up to the first tools/list and up to the search_tools that follows it."""
    with Peer(toolcrib(config), "legacy", toolcrib_environment(home)) as peer:
        peer.greet()
        tools = peer.ask("tools/list", {})["tools"]
        listed = _cost(peer)
        found = peer.call("search_tools", {"query": "create an issue about a crash"})
        searched = _cost(peer)
        started = children(peer.pid)
    if len(tools) != 5 or "create_issue" not in found["content"][0]["text"]:
        raise RuntimeError(f"not the expected answers: {found}")
    if started:
        raise RuntimeError(f"processes were started for a search: {started}")
    return listed, searched


def _cost(peer: Peer) -> Cost:
    return Cost((time.perf_counter() - peer.started) * 1_000, cpu_seconds(peer.pid) * 1_000)


def measure(rounds: int, folder: Path) -> Costs:
    compile_package()
    configs = {size: ready_home(folder / str(size), size) for size in SIZES}
    costs: Costs = {}
    for number in range(rounds + 1):
        taken = {(IMPORT, 0): cost_of(SHARED_IMPORTS)}
        for size, config in configs.items():
            taken[LIST, size], taken[SEARCH, size] = first_answers(config.parent, config)
        if number:  # the first round only fills the caches of the file system
            for case, cost in taken.items():
                costs.setdefault(case, []).append(cost)
    return costs


def measure_shared(rounds: int, sizes: Sequence[int] = SHARED_SIZES) -> Costs:
    """The same for what a client starts by default; only the clock counts, since two processes do the work."""
    with ExitStack() as stack:
        shops = {size: stack.enter_context(shared_home()) for size in sizes}
        for size, shop in shops.items():
            ready_home(shop.home, size)
        costs: Costs = {}
        for number in range(rounds + 1):
            taken = {(BARE, 0): cost_of(BARE_PYTHON), (IMPORT, 0): cost_of(SHARED_IMPORTS)}
            for size, shop in shops.items():
                # The engine of the round before has had the time to load what it needs beside the first requests.
                taken[RUNNING, size] = listed_by_connector(shop)
                shop.end_engines()
                taken[STARTED, size] = listed_by_connector(shop)
            if number:
                for case, cost in taken.items():
                    costs.setdefault(case, []).append(cost)
    return costs


def listed_by_connector(shop: SharedWorkshop) -> Cost:
    """The cost up to the first tools/list, and the end of that client."""
    with Peer(connector(shop.config), "legacy", shop.environment) as peer:
        peer.greet()
        peer.ask("tools/list", {})
        return _cost(peer)


def add_shared(report: Report, costs: Costs) -> None:
    add_costs(report, BARE, costs[BARE, 0])
    for what, floor, bar in ((RUNNING, BARE, 5), (STARTED, IMPORT, 0.5)):
        for size in sorted(size for case, size in costs if case == what):
            walls = [one.wall for one in costs[what, size]]
            ratios = [ours / theirs.wall for ours, theirs in zip(walls, costs[floor, 0], strict=True)]
            report.add(Figure(f"{what}, to the first {LIST}, N={size}", statistics.median(walls), "ms"))
            name = f"{what}, {LIST}, N={size} to {floor}"
            report.add(Figure(name, statistics.median(ratios), "x", bar, note=spread(ratios)))


def add_ratio(
    report: Report, name: str, ours: Sequence[Cost], theirs: Sequence[Cost], bar: float, aim: float | None = None
) -> None:
    """One ratio for each round, in which both ran right after each other; the middle one counts."""
    walls = [one.wall / other.wall for one, other in zip(ours, theirs, strict=True)]
    cpus = [one.cpu / other.cpu for one, other in zip(ours, theirs, strict=True)]
    report.add(Figure(name, statistics.median(walls), "x", bar, aim, spread(walls)))
    report.add(Figure(f"{name}, processor time", statistics.median(cpus), "x", note=spread(cpus)))


def add_costs(report: Report, name: str, costs: Sequence[Cost]) -> None:
    cpu = statistics.median(cost.cpu for cost in costs)
    report.add(Figure(name, statistics.median(cost.wall for cost in costs), "ms", note=f"{cpu:.0f} ms processor time"))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=11, help="starts of each case (default 11)")
    options = parser.parse_args()
    report = Report(f"start-up: first answers with {TOOLS_PER_SERVER} tools on each of N servers")
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        costs = measure(options.rounds, Path(folder))
    add_costs(report, IMPORT, costs[IMPORT, 0])
    for what, bar in ((LIST, 0.5), (SEARCH, 0.7)):
        for size in SIZES:
            add_costs(report, f"to the first {what}, N={size}", costs[what, size])
        add_ratio(report, f"{what}, N=100 to N=1", costs[what, 100], costs[what, 1], 1.2, 1.1)
        for size in (1, 100):
            add_ratio(report, f"{what}, N={size} to {IMPORT}", costs[what, size], costs[IMPORT, 0], bar)
    add_shared(report, measure_shared(options.rounds))
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

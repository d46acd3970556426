"""The same call through a gateway in a process of its own, and through a connector to the shared engine, in turns.

    python -m bench.connected_calls [--rounds N] [--era legacy|modern] [--json FILE]

The engine reads and writes the client's own pipes, so that a call should cost the same on both ways.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.calls import AT_ONCE, BATCH, ERAS, LARGE_BATCH, MEGABYTE, SMALL, WARM_UP, Lane, Lanes, in_turns, write_config
from bench.driver import Era, Peer, connector, synthetic, toolcrib, toolcrib_environment
from bench.process import cpu_seconds, wait_until_idle
from bench.ready_home import compile_package
from bench.report import Figure, Report, arguments, batch_ratios, percentile, spread
from bench.shared_home import shared_home

ALONE, SHARED = "in-process", "connector"
BAR = 1.05


@contextmanager
def open_lanes(era: Era) -> Iterator[tuple[Lanes, dict[str, int]]]:
    """Both ways, each with a server of its own, connected and warm; and the process that does the work for each."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolcrib-bench-")))
        shop = stack.enter_context(shared_home())
        command = synthetic(era)
        alone = Peer(toolcrib(write_config(home, command)), era, toolcrib_environment(home))
        shared = Peer(connector(write_config(shop.home, command)), era, shop.environment)
        lanes = {ALONE: Lane(alone, through_toolcrib=True), SHARED: Lane(shared, through_toolcrib=True)}
        for lane in lanes.values():
            stack.enter_context(lane.peer).greet()
        for tool, given in (("echo", SMALL), ("blob", {"n": MEGABYTE})):
            in_turns(lanes, {name: lane.request(tool, given) for name, lane in lanes.items()}, WARM_UP)
        workers = {ALONE: alone.pid, SHARED: shop.engine()}
        # Each makes its search index once, after its start; no call has to pay for it.
        for pid in workers.values():
            wait_until_idle(pid)
        yield lanes, workers


def add_ratio(report: Report, name: str, ratios: Sequence[float]) -> None:
    report.add(Figure(f"{name}, {SHARED} to {ALONE}", statistics.median(ratios), "x", BAR, note=spread(ratios)))


def compare(report: Report, name: str, tool: str, given: dict[str, object], rounds: int, batch: int, era: Era) -> None:
    """Milliseconds and processor time of one kind of call on both ways."""
    with open_lanes(era) as (lanes, workers):
        requests = {way: lane.request(tool, given) for way, lane in lanes.items()}
        before = {way: cpu_seconds(pid) for way, pid in workers.items()}
        times = in_turns(lanes, requests, rounds)
        used = {way: (cpu_seconds(pid) - before[way]) / rounds * 1e6 for way, pid in workers.items()}
    for way in (ALONE, SHARED):
        note = f"{used[way]:.0f} us processor time"
        report.add(Figure(f"{era}: {name} p50, {way}", percentile(times[way], 0.5), "ms", note=note))
    add_ratio(report, f"{era}: {name}", batch_ratios(times[SHARED], times[ALONE], batch))
    report.add(Figure(f"{era}: {name}, processor time, {SHARED} to {ALONE}", used[SHARED] / used[ALONE], "x"))


def throughput(report: Report, era: Era, rounds: int) -> None:
    with open_lanes(era) as (lanes, _):
        walls: dict[str, list[float]] = {way: [] for way in lanes}
        for number in range(rounds):
            for way in list(lanes)[:: 1 if number % 2 else -1]:
                request = lanes[way].request("echo", SMALL)
                start = time.perf_counter()
                lanes[way].peer.burst(request, AT_ONCE)
                walls[way].append(time.perf_counter() - start)
    for way, taken in walls.items():
        rate = AT_ONCE / statistics.median(taken)
        report.add(Figure(f"{era}: {AT_ONCE} small calls at once, {way}", rate, "calls/s"))
    add_ratio(report, f"{era}: {AT_ONCE} small calls at once", batch_ratios(walls[SHARED], walls[ALONE], LARGE_BATCH))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=2_000, help="small calls on each way (default 2000)")
    parser.add_argument("--era", choices=ERAS, action="append", help="only this protocol era")
    options = parser.parse_args()
    compile_package()
    report = Report("calls: through a connector to the shared engine, and in-process")
    for era in options.era or ERAS:
        compare(report, "small call", "echo", dict(SMALL), options.rounds, BATCH, era)
        compare(
            report, "1 MB result", "blob", {"n": MEGABYTE}, max(LARGE_BATCH, options.rounds // 10), LARGE_BATCH, era
        )
        throughput(report, era, max(LARGE_BATCH, options.rounds // 10))
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

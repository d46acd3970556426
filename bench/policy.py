"""What the policy costs a call: the same call for a client that may use everything, and for one under every kind of limit.

    python -m bench.policy [--rounds N] [--pairs N] [--era legacy|modern] [--json FILE]

The second one has a profile with servers, tags and rules, and a person confirms destructive calls. The call itself is none of
those, so nobody is asked.

Two processes of the same gateway differ by more than the bar, as they happen to be laid out in memory. So several pairs are
started, the limited one first in every other pair, and the median of all is what counts.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.calls import BATCH, ERAS, SMALL, WARM_UP, Lane, Lanes, in_turns
from bench.driver import Era, Peer, synthetic, toolcrib, toolcrib_environment
from bench.process import cpu_seconds, wait_until_idle
from bench.ready_home import compile_package
from bench.report import Figure, Report, arguments, batch_ratios, percentile, spread

EVERYTHING, LIMITED = "everything", "limited"
BAR = 1.05
# As many rules as somebody with strong opinions writes.
RULES = [{"pattern": [f"*never_{number}*"], "enabled": False} for number in range(20)]
LIMITS: dict[str, Any] = {
    "confirm": "destructive",
    "toolRules": [{"pattern": ["*"], "tags": ["bench"]}, *RULES],
    "profiles": {"bench": {"servers": ["syn*", "other"], "tags": ["bench"], "toolRules": RULES}},
}


def command(home: Path, era: Era, **discovery: Any) -> list[str]:
    """A gateway with these settings in a process of its own."""
    program = synthetic(era)
    config = home / "toolcrib.json"
    servers = {"synthetic": {"command": program[0], "args": program[1:]}}
    config.write_text(json.dumps({"discovery": {"servers": servers, **discovery}}))
    return [*toolcrib(config), *(["--profile", "bench"] if discovery else [])]


@contextmanager
def open_lanes(era: Era, names: Sequence[str]) -> Iterator[Lanes]:
    """Both gateways, started in this order, connected and warm, with nothing left to do."""
    with ExitStack() as stack:
        lanes: Lanes = {}
        for name in names:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolcrib-bench-")))
            discovery = LIMITS if name == LIMITED else {}
            peer = Peer(command(home, era, **discovery), era, toolcrib_environment(home))
            lanes[name] = Lane(peer, through_toolcrib=True)
            stack.enter_context(peer).greet()
        in_turns(lanes, {name: lane.request("echo", SMALL) for name, lane in lanes.items()}, WARM_UP)
        # The one that began later would pay for its search index while calls are counted.
        for lane in lanes.values():
            wait_until_idle(lane.peer.pid)
        yield lanes


@dataclass
class Measured:
    """Times of calls in milliseconds, and processor time of a call in microseconds, for one pair of gateways."""

    times: dict[str, list[float]]
    used: dict[str, float]


def measure(rounds: int, era: Era, names: Sequence[str]) -> Measured:
    with open_lanes(era, names) as lanes:
        requests = {name: lane.request("echo", SMALL) for name, lane in lanes.items()}
        before = {name: cpu_seconds(lane.peer.pid) for name, lane in lanes.items()}
        times = in_turns(lanes, requests, rounds)
        used = {name: (cpu_seconds(lane.peer.pid) - before[name]) / rounds * 1e6 for name, lane in lanes.items()}
    return Measured(times, used)


def compare(report: Report, rounds: int, pairs: int, era: Era, batch: int = BATCH) -> None:
    """Milliseconds and processor time of a small call on both, over all pairs."""
    both = (EVERYTHING, LIMITED)
    measured = [measure(rounds, era, both if pair % 2 else both[::-1]) for pair in range(pairs)]
    for name in both:
        times = [time for one in measured for time in one.times[name]]
        note = f"{statistics.median(one.used[name] for one in measured):.0f} us processor time"
        report.add(Figure(f"{era}: small call p50, {name}", percentile(times, 0.5), "ms", note=note))
    what = f"{LIMITED} to {EVERYTHING}"
    on_clock = [statistics.median(batch_ratios(one.times[LIMITED], one.times[EVERYTHING], batch)) for one in measured]
    report.add(Figure(f"{era}: small call, {what}", statistics.median(on_clock), "x", BAR, note=spread(on_clock)))
    used = [one.used[LIMITED] / one.used[EVERYTHING] for one in measured]
    report.add(Figure(f"{era}: processor time, {what}", statistics.median(used), "x", BAR, note=spread(used)))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=1_000, help="calls on each way (default 1000)")
    parser.add_argument("--pairs", type=int, default=7, help="pairs of gateways (default 7)")
    parser.add_argument("--era", choices=ERAS, action="append", help="only this protocol era")
    options = parser.parse_args()
    compile_package()
    report = Report("calls: what the policy costs")
    for era in options.era or ERAS:
        compare(report, options.rounds, options.pairs, era)
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

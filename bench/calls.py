"""The same call direct, through the bare pass-through and through Toolcrib, taken in turns in one run.

    python -m bench.calls [--rounds N] [--era legacy|modern] [--json FILE]

Absolute times depend on the machine and on what else runs; the ratios are medians over batches of neighbouring calls.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.driver import Era, Peer, behind_pass_through, synthetic, toolcrib, toolcrib_environment
from bench.process import cpu_seconds, wait_until_idle
from bench.report import Figure, Report, arguments, batch_ratios, percentile, spread

ERAS: tuple[Era, ...] = ("legacy", "modern")
DIRECT, BARE, OURS = "direct", "pass-through", "toolcrib"
SMALL = {"text": "x" * 100}
MEGABYTE = 1_000_000
BATCH = 50
AT_ONCE = 32
SLEEP_MS = 50
WARM_UP = 50
WARM_UP_LARGE = 5
LARGE_BATCH = 10


@dataclass(frozen=True)
class Lane:
    """One way to the synthetic server."""

    peer: Peer
    through_toolcrib: bool = False

    def request(self, tool: str, arguments: Mapping[str, Any]) -> bytes:
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        if self.through_toolcrib:
            params = {
                "name": "execute_tool",
                "arguments": {"server": "synthetic", "tool": tool, "arguments": arguments},
            }
        return self.peer.request("tools/call", params)


Lanes = dict[str, Lane]


@contextmanager
def open_lanes(era: Era) -> Iterator[Lanes]:
    """A server of its own behind each lane, connected and warm."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolcrib-bench-")))
        config = write_config(home, synthetic(era))
        lanes = {
            DIRECT: Lane(stack.enter_context(Peer(synthetic(era), era))),
            BARE: Lane(stack.enter_context(Peer(behind_pass_through(synthetic(era)), era))),
            OURS: Lane(
                stack.enter_context(Peer(toolcrib(config), era, toolcrib_environment(home))), through_toolcrib=True
            ),
        }
        for lane in lanes.values():
            lane.peer.greet()
            small = lane.request("echo", SMALL)
            for _ in range(WARM_UP):
                _check(lane.peer.exchange(small), SMALL["text"])
        # The search index is made once, after the start; no call has to pay for it.
        wait_until_idle(lanes[OURS].peer.pid)
        yield lanes


def write_config(home: Path, command: list[str]) -> Path:
    entry = {"command": command[0], "args": command[1:]}
    config = home / "toolcrib.json"
    config.write_text(json.dumps({"discovery": {"servers": {"synthetic": entry}, "maxResultBytes": 16 * MEGABYTE}}))
    return config


def in_turns(lanes: Lanes, requests: Mapping[str, bytes], rounds: int) -> dict[str, list[float]]:
    """The milliseconds of each call; every round asks every lane once, beginning with another one each time."""
    times: dict[str, list[float]] = {name: [] for name in lanes}
    names = list(lanes)
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            peer, request = lanes[name].peer, requests[name]
            start = time.perf_counter()
            answer = peer.exchange(request)
            times[name].append((time.perf_counter() - start) * 1_000)
            _refuse_error(answer)
    return times


def small_calls(report: Report, lanes: Lanes, era: Era, rounds: int) -> None:
    requests = {name: lane.request("echo", SMALL) for name, lane in lanes.items()}
    before = {name: cpu_seconds(lane.peer.pid) for name, lane in lanes.items()}
    times = in_turns(lanes, requests, rounds)
    for name, lane in lanes.items():
        report.add(Figure(f"{era}: small call p50, {name}", percentile(times[name], 0.5), "ms"))
        report.add(Figure(f"{era}: small call p99, {name}", percentile(times[name], 0.99), "ms"))
        used = (cpu_seconds(lane.peer.pid) - before[name]) / rounds
        report.add(Figure(f"{era}: small call processor time, {name}", used * 1e6, "us"))
    to_bare = batch_ratios(times[OURS], times[BARE], BATCH)
    report.add(
        Figure(f"{era}: small call, toolcrib to pass-through", statistics.median(to_bare), "x", 3, 2, spread(to_bare))
    )
    to_direct = batch_ratios(times[OURS], times[DIRECT], BATCH)
    report.add(
        Figure(f"{era}: small call, toolcrib to direct", statistics.median(to_direct), "x", note=spread(to_direct))
    )


def large_results(report: Report, lanes: Lanes, era: Era, tool: str, rounds: int) -> None:
    requests = {name: lane.request(tool, {"n": MEGABYTE}) for name, lane in lanes.items()}
    in_turns(lanes, requests, WARM_UP_LARGE)
    before = {name: cpu_seconds(lane.peer.pid) for name, lane in lanes.items()}
    times = in_turns(lanes, requests, rounds)
    for name, lane in lanes.items():
        used = (cpu_seconds(lane.peer.pid) - before[name]) / rounds * 1_000
        note = f"quickest {min(times[name]):.2f}, processor time {used:.2f}"
        report.add(Figure(f"{era}: 1 MB {tool} p50, {name}", percentile(times[name], 0.5), "ms", note=note))
    # A large answer takes a process switch for every pipe full of it, and on a busy machine each of them waits for its
    # turn: that slows the direct call most. The quickest of each batch tells what the work itself takes.
    ratios = batch_ratios(times[OURS], times[DIRECT], LARGE_BATCH, min)
    report.add(
        Figure(f"{era}: 1 MB {tool}, toolcrib to direct", statistics.median(ratios), "x", 4, 2.5, spread(ratios))
    )


def overlap(report: Report, lanes: Lanes, era: Era, rounds: int) -> None:
    walls = {name: _bursts(lane, "sleep_ms", {"n": SLEEP_MS}, rounds) for name, lane in lanes.items()}
    for name, wall in walls.items():
        bar = 2 * SLEEP_MS if name == OURS else None
        figure = f"{era}: {AT_ONCE} calls of {SLEEP_MS} ms at once, {name}"
        report.add(Figure(figure, statistics.median(wall), "ms", bar, note=f"longest {max(wall):.0f}"))


def throughput(report: Report, lanes: Lanes, era: Era, rounds: int) -> None:
    walls = {name: _bursts(lane, "echo", SMALL, rounds) for name, lane in lanes.items()}
    for name, wall in walls.items():
        rate = AT_ONCE / statistics.median(wall) * 1_000
        report.add(Figure(f"{era}: {AT_ONCE} small calls at once, {name}", rate, "calls/s"))


def _bursts(lane: Lane, tool: str, arguments: Mapping[str, Any], rounds: int) -> list[float]:
    request = lane.request(tool, arguments)
    walls = []
    for _ in range(rounds):
        start = time.perf_counter()
        answers = lane.peer.burst(request, AT_ONCE)
        walls.append((time.perf_counter() - start) * 1_000)
        for answer in answers:
            _refuse_error(answer)
    return walls


def _refuse_error(answer: bytes) -> None:
    if b'"isError":true' in answer[-200:] or b'"error":' in answer[:64]:
        raise RuntimeError(f"a call failed: {answer[:300]!r}")


def _check(answer: bytes, text: str) -> None:
    _refuse_error(answer)
    if text not in json.loads(answer)["result"]["content"][0]["text"]:
        raise RuntimeError(f"not what was asked for: {answer[:300]!r}")


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=2_000, help="small calls on each lane (default 2000)")
    parser.add_argument("--era", choices=ERAS, action="append", help="only this protocol era")
    options = parser.parse_args()
    report = Report("calls: direct, through the bare pass-through, and through Toolcrib")
    for era in options.era or ERAS:
        with open_lanes(era) as lanes:
            small_calls(report, lanes, era, options.rounds)
            large_results(report, lanes, era, "blob", 80)
            large_results(report, lanes, era, "json_blob", 80)
            overlap(report, lanes, era, 7)
            throughput(report, lanes, era, 50)
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

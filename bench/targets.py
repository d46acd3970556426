"""What users were promised in plain numbers, measured at a gateway process with 100 servers and 1,000 tools known.

    python -m bench.targets [--rounds N] [--json FILE]

List, details, search and reload are asked over stdio, in turns with `ping`, whose time is the floor of any request. The
tokens are those of a tokenizer (o200k_base). How often the cache answers comes from a trace: see `bench/cache_trace.py`.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.cache_trace import Habits, missed_share, traced_days
from bench.catalog import QUERIES, fill_home, server_names, tools_of
from bench.driver import Peer, toolcrib, toolcrib_environment
from bench.process import children, cpu_seconds, program_megabytes, resident_megabytes
from bench.report import Figure, Report, arguments, batch_ratios, percentile
from tests.server.agent_tokens import FOR_CLIENTS, compact, count

SERVERS, TOOLS_EACH = 100, 10
BATCH = 10
LONGEST_WAIT_SECONDS = 60.0
CALM_SECONDS = 0.5

FLOOR, LISTED, DETAILED, SEARCHED = "ping", "list_mcp_servers", "get_tool_details", "search_tools"
BARS_MS = {LISTED: 50.0, DETAILED: 50.0, SEARCHED: 100.0}
Times = dict[str, list[float]]


def wait_until_calm(peer: Peer) -> None:
    """Until the gateway has learnt its tools, which it does beside the first requests."""
    deadline = time.monotonic() + LONGEST_WAIT_SECONDS
    while time.monotonic() < deadline:
        before = cpu_seconds(peer.pid)
        time.sleep(CALM_SECONDS)
        if cpu_seconds(peer.pid) - before < 0.05 * CALM_SECONDS:
            return
    raise RuntimeError(f"the gateway was still busy after {LONGEST_WAIT_SECONDS:g} s")


def ask_in_turns(peer: Peer, rounds: int, servers: int) -> Times:
    """Milliseconds of each question, every round with another tool and query."""
    names = server_names(servers)
    times: Times = {FLOOR: [], LISTED: [], DETAILED: [], SEARCHED: []}
    for number, query in enumerate(itertools.islice(itertools.cycle(QUERIES), rounds)):
        server = names[number % servers]
        tool = tools_of(server)[number % TOOLS_EACH]["name"]
        requests = {
            FLOOR: peer.request("ping", {}),
            LISTED: _tool_request(peer, LISTED),
            DETAILED: _tool_request(peer, DETAILED, server=server, tool=tool),
            # Another text each time: the vector of a query that was asked before is kept.
            SEARCHED: _tool_request(peer, SEARCHED, query=f"{query}, number {number}"),
        }
        for name, request in requests.items():
            began = time.perf_counter()
            answer = peer.exchange(request)
            times[name].append((time.perf_counter() - began) * 1_000)
            if b'"isError":true' in answer or b'"error":' in answer[:64]:
                raise RuntimeError(f"{name} was refused: {answer[:400]!r}")
    return times


def _tool_request(peer: Peer, name: str, **given: Any) -> bytes:
    return peer.request("tools/call", {"name": name, "arguments": given})


def add_times(report: Report, times: Times) -> None:
    for name, bar in BARS_MS.items():
        ordered = times[name]
        note = f"median {statistics.median(ordered):.2f} ms, longest {max(ordered):.1f} ms"
        report.add(Figure(f"{name}, 95 % within", percentile(ordered, 0.95), "ms", bar, note=note))
        ratio = statistics.median(batch_ratios(ordered, times[FLOOR], min(BATCH, len(ordered))))
        report.add(Figure(f"{name} to {FLOOR}", ratio, "x"))


def reload_times(peer: Peer, config: Path, rounds: int) -> list[float]:
    """Milliseconds from the signal of `config reload` to the first answer that keeps the edited rules."""
    times = []
    for number in range(rounds):
        _edit_rules(config, disabled=number % 2 == 0)
        began = time.perf_counter()
        os.kill(peer.pid, signal.SIGHUP)
        _wait_for_tools(peer, TOOLS_EACH - 2 if number % 2 == 0 else TOOLS_EACH)
        times.append((time.perf_counter() - began) * 1_000)
    return times


def _edit_rules(config: Path, *, disabled: bool) -> None:
    """Switch the two tools that create something on one server off, or on again."""
    document = json.loads(config.read_text("utf-8"))
    document["discovery"]["toolRules"] = [{"pattern": ["github:create_*"], "enabled": not disabled}] if disabled else []
    edited = config.with_suffix(".new")
    edited.write_text(json.dumps(document), encoding="utf-8")
    edited.replace(config)


def _wait_for_tools(peer: Peer, wanted: int) -> None:
    deadline = time.monotonic() + LONGEST_WAIT_SECONDS
    while time.monotonic() < deadline:
        answer = peer.call("list_tools", {"server": "github"})
        if len(json.loads(answer["content"][0]["text"])["tools"]) == wanted:
            return
        time.sleep(0.005)
    raise RuntimeError(f"the edited rules did not hold after {LONGEST_WAIT_SECONDS:g} s")


def add_tokens(report: Report, peer: Peer, greeting: dict[str, Any], servers: int) -> None:
    definitions = peer.ask("tools/list", {})["tools"]
    read = [{key: value for key, value in one.items() if key not in FOR_CLIENTS} for one in definitions]
    own = count(compact(read)) + count(greeting.get("instructions", ""))
    tools = [tool for name in server_names(servers) for tool in tools_of(name)[:TOOLS_EACH]]
    without = sum(count(compact({key: tool[key] for key in ("name", "description", "inputSchema")})) for tool in tools)
    searched = peer.call(SEARCHED, {"query": QUERIES[0]})["content"][0]["text"]
    detailed = peer.call(DETAILED, {"server": "github", "tool": "create_issue"})["content"][0]["text"]
    found = count(searched) + count(detailed)
    report.add(Figure(f"definitions of all {len(tools)} tools", without, "tokens"))
    report.add(Figure("five definitions and instructions", own, "tokens", 700))
    report.add(Figure("the same, part of all definitions", 100 * own / without, "%", 1))
    report.add(Figure("and with a search and the details of a tool", 100 * (own + found) / without, "%", 1))


def add_memory_when_empty(report: Report, home: Path) -> None:
    """The least that a gateway takes: no server, and what it loads beside the first questions is there."""
    config = fill_home(home, 0)
    report.add(Figure("python alone", program_megabytes(), "MB"))
    with Peer(toolcrib(config), "legacy", toolcrib_environment(home)) as peer:
        peer.greet()
        peer.ask("tools/list", {})
        peer.call(LISTED, {})
        wait_until_calm(peer)
        report.add(Figure("gateway without a server", resident_megabytes(peer.pid), "MB", 50))


def measure_gateway(report: Report, home: Path, rounds: int, servers: int = SERVERS) -> None:
    config = fill_home(home, servers, tools_each=TOOLS_EACH)
    with Peer(toolcrib(config), "legacy", toolcrib_environment(home)) as peer:
        greeting = peer.greet()
        peer.call(SEARCHED, {"query": QUERIES[0]})
        wait_until_calm(peer)
        add_times(report, ask_in_turns(peer, rounds, servers))
        add_tokens(report, peer, greeting, servers)
        report.add(Figure("gateway after these questions", resident_megabytes(peer.pid), "MB"))
        reloads = reload_times(peer, config, max(2, rounds // 20))
        note = f"median {statistics.median(reloads):.0f} ms"
        report.add(Figure(f"{len(reloads)} configuration reloads, longest", max(reloads), "ms", 500, note=note))
        started = children(peer.pid)
    if started:
        raise RuntimeError(f"processes were started though everything was known: {started}")


def measure_cache(report: Report, file: Path, habits: Habits) -> None:
    """Days from the first one on, on which nothing is known yet; on each, all that was read the day before grows old."""
    for stats, name in zip(
        traced_days(file, habits, 3), ("first day, nothing known", "second day", "third day"), strict=True
    ):
        note = f"{stats.hits} of {stats.hits + stats.misses} questions answered by the cache"
        report.add(Figure(f"cache misses, {name}", missed_share(stats), "%", 20, note=note))


def main(given: Sequence[str] | None = None) -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=400, help="questions of each kind (default 400)")
    options = parser.parse_args(given)
    report = Report(f"targets: {SERVERS} servers, {SERVERS * TOOLS_EACH} tools known")
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        homes = [Path(folder, name) for name in ("empty", "full")]
        for home in homes:
            home.mkdir()
        add_memory_when_empty(report, homes[0])
        measure_gateway(report, homes[1], options.rounds)
        measure_cache(report, Path(folder, "trace.db"), Habits(SERVERS, TOOLS_EACH))
        without_searches = Habits(SERVERS, TOOLS_EACH, hits_of_a_search=0)
        stats = traced_days(Path(folder, "other.db"), without_searches, 3)[-1]
        report.add(Figure("cache misses, third day, details and runs only", missed_share(stats), "%", 20))
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

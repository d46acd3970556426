"""What a server with a hostile list of tools, or one whose tool never comes to an end, costs everybody else.

    python -m bench.hostile [--kinds KIND ...] [--json FILE]

A gateway on stdio with two servers: one that answers, called again and again, and one that is read meanwhile
(`bench/hostile_server.py`). For each kind of hostile list, over stdio and over HTTP: the longest call to the healthy
server, the peak of resident memory, and the size of the log, beside the same with an ordinary second server. For each
kind of hostile call (`bench/hostile_calls_server.py`) the same, while that call runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.driver import HERE, Peer, synthetic, toolcrib_environment
from bench.process import peak_megabytes
from bench.report import Figure, Report, arguments
from toolcrib.config.paths import Paths
from toolcrib.storage.sqlite import SqliteCatalog

PLAIN = "plain"
CALLS = (
    *("progress", "logs", "changed", "questions", "answers", "blanks", "endless", "drip", "stderr"),
    *("deep", "structure", "keys", "blocks", "block", "meta", "members", "interim"),
)
CALL_SECONDS = 5.0
KINDS = ("worthless", "empty", "heavy", "heavy-line", "many", "dense", "wordy")
# As much as the limits of each transport let through, or more.
BYTES = {"stdio": "14000000", "http": "10000000"}
# Once the hostile server was read, or given up: what follows from it (indexing, learning) is watched for this long.
AFTER_SECONDS = 5.0
LONGEST_SECONDS = 150.0

HEALTHY = {"server": "synthetic", "tool": "echo", "arguments": {"text": "x"}}

CALL_BAR_SECONDS = 2.0
MEMORY_BAR_MEGABYTES = 100.0
LOG_BAR_KILOBYTES = 16.0


@dataclass(frozen=True)
class Cost:
    """What was seen while a second server was read."""

    longest_call_seconds: float
    peak_megabytes: float
    log_kilobytes: float


@contextmanager
def second_server(kind: str, transport: str) -> Iterator[dict[str, Any]]:
    """The entry of a server of this kind, reached this way."""
    command = [sys.executable, "-I", "-S", str(HERE / "hostile_server.py"), kind, "--bytes", BYTES[transport]]
    if kind in CALLS:
        command = [sys.executable, "-I", "-S", str(HERE / "hostile_calls_server.py"), kind]
    if transport == "stdio":
        yield {"command": command[0], "args": command[1:]}
        return
    with subprocess.Popen([*command, "--http"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield {"url": f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"}
        finally:
            process.kill()


def measure(kind: str, transport: str) -> Cost:
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder, second_server(kind, transport) as entry:
        home, log = Path(folder), Path(folder) / "stderr.txt"
        healthy = synthetic("modern")
        servers = {"synthetic": {"command": healthy[0], "args": healthy[1:]}, "second": entry}
        config = home / "bench.json"
        config.write_text(json.dumps({"discovery": {"servers": servers}}), "utf-8")
        command = [sys.executable, "-m", "toolcrib", "--config", str(config), "serve"]
        environment = {**toolcrib_environment(home), "TOOLCRIB_ENGINE_ENABLED": "false"}
        with log.open("wb") as stderr, Peer(command, "modern", environment, stderr) as peer:
            peer.greet()
            longest = _longest_beside_call(peer) if kind in CALLS else _longest_call(peer, home)
            peak = peak_megabytes(peer.pid)
        return Cost(longest, peak, log.stat().st_size / 1024)


def _longest_beside_call(peer: Peer) -> float:
    """Call the healthy server while the tool of the hostile one runs, for which nobody waits."""
    peer.ask("tools/call", {"name": "list_tools", "arguments": {"server": "second"}})
    arguments = {"server": "second", "tool": "tool_0", "arguments": {}}
    peer.tell("tools/call", {"name": "execute_tool", "arguments": arguments, "_meta": {"progressToken": "hostile"}})
    longest, began = 0.0, time.perf_counter()
    while time.perf_counter() - began < CALL_SECONDS:
        longest = max(longest, _one_call(peer))
    return longest


def _one_call(peer: Peer) -> float:
    before = time.perf_counter()
    # Not `call`: one that ran into its timeout is a measurement, too.
    peer.ask("tools/call", {"name": "execute_tool", "arguments": HEALTHY})
    took = time.perf_counter() - before
    time.sleep(0.005)
    return took


def _longest_call(peer: Peer, home: Path) -> float:
    """Call the healthy server until the second one was read and a while after."""
    catalog = SqliteCatalog(Paths.of(toolcrib_environment(home)).catalog)
    longest, began, settled = 0.0, time.perf_counter(), None
    while settled is None or time.perf_counter() - settled < AFTER_SECONDS:
        longest = max(longest, _one_call(peer))
        record = next((one for one in catalog.servers().values() if one.name == "second"), None)
        if settled is None and record is not None and (record.read_at or record.error):
            settled = time.perf_counter()
        if time.perf_counter() - began > LONGEST_SECONDS:
            raise TimeoutError(f"the second server was not read within {LONGEST_SECONDS:g} s")
    catalog.close()
    return longest


def compare(report: Report, kind: str, transport: str, plain: Cost) -> None:
    cost = measure(kind, transport)
    what, ratio = f"{kind} over {transport}", cost.longest_call_seconds / plain.longest_call_seconds
    report.add(Figure(f"{what}: longest call", cost.longest_call_seconds, "s", CALL_BAR_SECONDS))
    report.add(Figure(f"{what}: longest call, to the ordinary one", ratio))
    grown = max(0.0, cost.peak_megabytes - plain.peak_megabytes)
    report.add(Figure(f"{what}: more memory at the peak", grown, "MB", MEMORY_BAR_MEGABYTES))
    report.add(Figure(f"{what}: log", cost.log_kilobytes, "KB", LOG_BAR_KILOBYTES))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--kinds", nargs="+", choices=(*KINDS, *CALLS), default=(*KINDS, *CALLS))
    options = parser.parse_args()
    report = Report("a healthy server beside a hostile one")
    for transport in BYTES:
        plain = measure(PLAIN, transport)
        report.add(Figure(f"ordinary over {transport}: longest call", plain.longest_call_seconds, "s"))
        report.add(Figure(f"ordinary over {transport}: memory at the peak", plain.peak_megabytes, "MB"))
        for kind in options.kinds:
            if kind == "stderr" and transport == "http":
                continue
            compare(report, kind, transport, plain)
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How long `toolcrib execute` takes on a server that the shared engine has running.

    python -m bench.commands [--rounds N] [--json FILE]

Each round runs every command once, beside `python -c "import json"`, and in turn the same command without an engine, which
has to start the server.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from bench.calls import write_config
from bench.driver import PROGRAM, Peer, connector, synthetic
from bench.ready_home import compile_package
from bench.report import Figure, Report, arguments, spread
from bench.shared_home import shared_home

FLOOR = 'python -c "import json"'
EXECUTE, ALONE = "execute, engine running", "execute, no engine"
BARE = "python -I -c pass"
SEARCH, LIST = "search, engine running", "list, engine running"
Times = dict[str, list[float]]


def milliseconds(command: Sequence[str], env: Mapping[str, str], wanted: str) -> float:
    began = time.perf_counter()
    ran = subprocess.run(command, env=dict(env), capture_output=True, text=True, check=False, timeout=60)
    took = (time.perf_counter() - began) * 1_000
    if ran.returncode or wanted not in ran.stdout:
        raise RuntimeError(f"{command} ended with {ran.returncode}: {ran.stdout} {ran.stderr}")
    return took


def measure(rounds: int) -> Times:
    with shared_home() as shop:
        write_config(shop.home, synthetic("modern"))
        alone = {**shop.environment, "TOOLCRIB_ENGINE_ENABLED": "false"}
        execute = [str(PROGRAM), "execute", "synthetic", "echo", "text=hello"]
        commands = {
            BARE: ([sys.executable, "-I", "-c", "pass"], alone, ""),
            FLOOR: ([sys.executable, "-c", "import json"], alone, ""),
            EXECUTE: (execute, shop.environment, "hello"),
            ALONE: (execute, alone, "hello"),
            SEARCH: ([str(PROGRAM), "search", "give back a text"], shop.environment, "echo"),
            LIST: ([str(PROGRAM), "list"], shop.environment, "synthetic"),
        }
        with Peer(connector(shop.config), "modern", shop.environment) as peer:
            call = {"server": "synthetic", "tool": "echo", "arguments": {"text": "x"}}
            peer.call("execute_tool", call)
            return in_turns(commands, rounds)


def in_turns(commands: Mapping[str, tuple[list[str], Mapping[str, str], str]], rounds: int) -> Times:
    times: Times = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            took = milliseconds(*command)
            if number:  # the first round only fills caches
                times[name].append(took)
    return times


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="runs of each command (default 40)")
    options = parser.parse_args()
    compile_package()
    report = Report("commands: what a running engine saves")
    times = measure(options.rounds)
    for name, taken in times.items():
        report.add(Figure(name, statistics.median(taken), "ms", note=spread(taken)))
    for name, bar in ((EXECUTE, 3), (SEARCH, None), (LIST, None), (ALONE, None)):
        ratios = [one / other for one, other in zip(times[name], times[FLOOR], strict=True)]
        report.add(Figure(f"{name}, to {FLOOR}", statistics.median(ratios), "x", bar, note=spread(ratios)))
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

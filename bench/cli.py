"""How long a person waits for a command, next to importing numpy and yaml in the same run.

    python -m bench.cli

Every round runs each command once, so that a busy machine slows all of them alike; the medians are compared.
BENCH_PYTHON names another interpreter to measure.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from bench.driver import toolcrib_environment
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.storage.sqlite import SqliteCatalog

ROUNDS = 15
SOURCE = Path(__file__).resolve().parent.parent / "src"
PYTHON = os.environ.get("BENCH_PYTHON", sys.executable)
BASELINE = "import numpy, yaml"
SERVERS, TOOLS_EACH = 20, 15
MANY_TOOLS_EACH = 50

VERBS = "create list get update delete search send read write export import merge move copy check".split()
THINGS = (
    "issue file message calendar invoice customer branch commit picture table query report ticket page user "
    "order payment folder channel event note contact deployment container secret"
).split()


def tool(server: int, number: int) -> dict[str, object]:
    verb, thing = VERBS[number % len(VERBS)], THINGS[(server * 7 + number) % len(THINGS)]
    other = THINGS[(server + number * 3) % len(THINGS)]
    return {
        "name": f"{verb}_{thing}_{number}",
        "description": f"{verb.title()} a {thing} of the {other} service. Needs the identifier of the {thing}, and "
        f"returns the {thing} with all of its fields, or an error where there is no such {other}.",
        "inputSchema": {
            "type": "object",
            "properties": {
                f"{thing}_id": {"type": "string", "description": f"Identifier of the {thing}"},
                "limit": {"type": "integer", "description": "How many to return at most"},
                "dry_run": {"type": "boolean", "description": "Only say what would be done"},
            },
            "required": [f"{thing}_id"],
        },
    }


def filled(home: Path, tools_each: int) -> dict[str, str]:
    """A home with a configuration and a catalog in which every server was read."""
    home.mkdir()
    lines = [f"  server{number}: {{command: never-started, args: ['{number}']}}\n" for number in range(SERVERS)]
    (home / "toolcrib.yaml").write_text("servers:\n" + "".join(lines), "utf-8")
    env = toolcrib_environment(home)
    catalog = SqliteCatalog(Paths.of(env).catalog)
    for number, spec in enumerate(load_settings(home / "toolcrib.yaml", env=env).servers):
        tools = tuple(tool(number, at) for at in range(tools_each))
        reading = ServerReading(Identity("legacy", "2025-11-25"), tools)
        catalog.save_reading(spec.name, spec.launch_key, reading, time.time())
    catalog.close()
    return {**env, "PYTHONPATH": str(SOURCE)}


def seconds(command: list[str], env: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=dict(env), check=True, stdout=subprocess.DEVNULL, cwd=env["TOOLCRIB_HOME"])
    return time.perf_counter() - began


def main() -> int:
    if subprocess.run([PYTHON, "-c", BASELINE], check=False, stderr=subprocess.DEVNULL).returncode:
        print(f"{PYTHON} has no numpy to compare with: set BENCH_PYTHON", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        few, many = filled(Path(folder, "few"), TOOLS_EACH), filled(Path(folder, "many"), MANY_TOOLS_EACH)
        program = [PYTHON, "-m", "toolcrib"]
        runs: dict[str, tuple[list[str], dict[str, str], float | None]] = {
            BASELINE: ([PYTHON, "-c", BASELINE], few, None),
            "--help": ([*program, "--help"], few, 1.5),
            "--version": ([*program, "--version"], few, 1.5),
            f"search, {SERVERS * TOOLS_EACH} tools": ([*program, "search", "create", "an", "issue"], few, 3.0),
            f"list, {SERVERS} servers": ([*program, "list"], few, 3.0),
            "tools": ([*program, "tools", "server3"], few, 3.0),
            "inspect": ([*program, "inspect", "server3", "create_contact_0"], few, 3.0),
            f"search, {SERVERS * MANY_TOOLS_EACH:,} tools": ([*program, "search", "create", "an", "issue"], many, None),
        }
        took: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(ROUNDS):
            for name, (command, env, _) in runs.items():
                took[name].append(seconds(command, env))
    return report({name: median(times) for name, times in took.items()}, {n: bar for n, (_, _, bar) in runs.items()})


def report(medians: Mapping[str, float], bars: Mapping[str, float | None]) -> int:
    missed = False
    for name, took in medians.items():
        ratio, bar = took / medians[BASELINE], bars[name]
        verdict = "" if bar is None else f"  bar {bar:g}  {'ok' if ratio <= bar else 'MISSED'}"
        missed = missed or (bar is not None and ratio > bar)
        print(f"{name:<22} {took * 1000:7.0f} ms  {ratio:5.2f} x{verdict}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())

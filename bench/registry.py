"""Real registry entries: how many can be launched, and how fast a copy of a whole registry is searched."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.report import Figure, Report, arguments
from toolcrib.registry.mirror import Mirror, SyncState
from toolcrib.registry.pages import Page, read_page
from toolcrib.registry.recipe import Bundle, Recipe, Refusal
from toolcrib.registry.recipes import plans
from toolcrib.registry.search import RegistryIndex

DATA_BESIDE_THE_PROJECT = Path(__file__).resolve().parents[2] / "shared" / "data" / "registry-seed.json"
SERVERS = 25_000
PAGE = 100
QUERIES = (
    "send an email",
    "postgres database",
    "github issues and pull requests",
    "control a web browser",
    "weather forecast for a city",
    "read and write files",
    "search the web",
    "home automation lights",
    "payments and invoices",
    "io.github.grafana/mcp-grafana",
)
ADDRESS = "https://registry.example"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("file", type=Path, nargs="?", default=DATA_BESIDE_THE_PROJECT)
    given = parser.parse_args()
    if not given.file.is_file():
        print(f"{given.file}: no registry entries there, nothing to measure")
        return
    entries = json.loads(given.file.read_text("utf-8"))["servers"]
    report = Report(f"registry: {len(entries)} real entries")
    launch(report, entries)
    search(report, entries)
    report.finish(given.json)


def launch(report: Report, entries: list[Any]) -> None:
    page = read_page(json.dumps({"servers": entries}).encode(), ADDRESS)
    began = time.perf_counter()
    made = [plans(server) for server in page.servers]
    took = time.perf_counter() - began
    report.add(Figure("entries left out as unusable", len(page.skipped)))
    report.add(Figure("parsed and planned", 1000 * took / max(1, len(made)), "ms per entry"))
    report.add(Figure("servers that can be launched", sum(_has(each, Recipe) for each in made)))
    report.add(
        Figure("servers with a bundle only", sum(_has(each, Bundle) and not _has(each, Recipe) for each in made))
    )
    report.add(
        Figure("servers that name nothing to run", sum(not one.packages and not one.remotes for one in page.servers))
    )
    kinds = Counter((type(plan).__name__, plan.kind) for each in made for plan in each)
    for (outcome, kind), number in sorted(kinds.items()):
        report.add(Figure(f"{outcome.lower()}: {kind}", number))
    for reason in (plan.reason for each in made for plan in each if isinstance(plan, Refusal) and plan.kind != "none"):
        print(f"    refused: {reason}")


def search(report: Report, entries: list[Any]) -> None:
    """The real entries again and again under other names, as many as the official registry has."""
    pages = [_page(entries, start) for start in range(0, SERVERS, PAGE)]
    with tempfile.TemporaryDirectory() as folder:
        mirror = Mirror(Path(folder) / "registry.db", now=time.time)
        began = time.perf_counter()
        for page in pages:
            mirror.take(ADDRESS, page.entries, SyncState(run=1))
        report.add(Figure(f"{SERVERS} servers written", time.perf_counter() - began, "s"))
        began = time.perf_counter()
        servers = mirror.servers([ADDRESS])
        report.add(Figure("read", time.perf_counter() - began, "s"))
        mirror.close()
    began = time.perf_counter()
    index = RegistryIndex(servers)
    report.add(Figure("indexed", time.perf_counter() - began, "s"))
    times = [_timed(index, query) for query in QUERIES for _ in range(5)]
    report.add(Figure("search, median", 1000 * statistics.median(times), "ms", bar=50, aim=10))
    report.add(Figure("search, slowest", 1000 * max(times), "ms"))


def _page(entries: list[Any], start: int) -> Page:
    renamed = [_renamed(entries, number) for number in range(start, start + PAGE)]
    return read_page(json.dumps({"servers": renamed}).encode(), ADDRESS)


def _renamed(entries: list[Any], number: int) -> dict[str, Any]:
    entry = entries[number % len(entries)]
    round_number = number // len(entries)
    return {**entry, "server": {**entry["server"], "name": f"{entry['server']['name']}-{round_number}"}}


def _timed(index: RegistryIndex, query: str) -> float:
    began = time.perf_counter()
    index.search(query)
    return time.perf_counter() - began


def _has(each: tuple[object, ...], kind: type) -> bool:
    return any(isinstance(plan, kind) for plan in each)


if __name__ == "__main__":
    main()

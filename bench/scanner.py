"""What the scanner finds in definitions of real servers, where nearly all is honest: how many are hit, and which.

    python -m bench.scanner [--data FOLDER] [--definitions FILE] [--json FILE]

The tools are those of the data set `toucan`, where that lies beside the project, and those of a file of definitions: a
JSON object of servers, each with `tools`, `prompts`, `resources`, `info` and `instructions`. The labelled corpus of the
tests is measured as well.
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.report import Figure, Report, arguments, percentile
from bench.search_quality.data import DATA_BESIDE_THE_PROJECT
from tests.scanner.labelled import BENIGN, HOSTILE, PARAPHRASES, WORLD, cases
from toolcrib.model.finding import Finding
from toolcrib.scanner.beside import KnownNames, beside
from toolcrib.scanner.scan import scan


@dataclass(frozen=True)
class Offer:
    server: str
    definition: Mapping[str, Any]


@dataclass
class Scanned:
    """What came out for many definitions."""

    count: int = 0
    hard: list[tuple[Offer, Finding]] = field(default_factory=list)
    soft: int = 0
    rules: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    @property
    def hard_share(self) -> float:
        return 100 * len(self.hard) / self.count


def toucan(folder: Path) -> Iterator[Offer]:
    file = folder / "toucan" / "tools.jsonl.gz"
    if file.exists():
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for tool in map(json.loads, lines):
                definition = {
                    "name": tool["name"],
                    "description": tool["description"],
                    "inputSchema": tool["parameters"],
                }
                yield Offer(tool["server"], definition)


def of_servers(file: Path | None) -> Iterator[Offer]:
    servers = json.loads(file.read_text(encoding="utf-8")) if file is not None and file.exists() else {}
    for server, told in servers.items():
        yield Offer(server, {**(told.get("info") or {}), "instructions": told.get("instructions") or ""})
        for kind in ("tools", "prompts", "resources", "templates"):
            for definition in told.get(kind) or ():
                yield Offer(server, definition)


def scanned(offers: Iterable[Offer]) -> Scanned:
    offers, out = list(offers), Scanned()
    names: dict[str, set[str]] = {}
    for offer in offers:
        names.setdefault(offer.server, set()).add(str(offer.definition.get("name", "")))
    known = KnownNames.of(names)
    for offer in offers:
        started = time.perf_counter()
        found = list(beside(offer.server, scan(offer.definition), lambda: known))
        out.seconds.append(time.perf_counter() - started)
        out.count += 1
        out.rules.update({(finding.rule, finding.level) for finding in found})
        hard = [finding for finding in found if finding.is_hard]
        out.hard += [(offer, hard[0])] if hard else []
        out.soft += bool(found) and not hard
    return out


def say(title: str, bar: float, out: Scanned, report: Report) -> None:
    if not out.count:
        print(f"  {title}: no data, so nothing was measured")
        return
    report.add(Figure(f"{title}: hard findings, of {out.count:,} definitions", out.hard_share, "%", bar))
    report.add(Figure(f"{title}: soft findings only", 100 * out.soft / out.count, "%"))
    report.add(Figure(f"{title}: time for one, mean", 1000 * statistics.mean(out.seconds), "ms"))
    report.add(Figure(f"{title}: time for one, p99", 1000 * percentile(out.seconds, 0.99), "ms"))
    report.add(Figure(f"{title}: time for one, longest", 1000 * max(out.seconds), "ms"))
    print("   ", ", ".join(f"{rule} ({level}): {count}" for (rule, level), count in out.rules.most_common()))
    for offer, finding in out.hard:
        name = offer.definition.get("name", "")
        print(f"    hard: {offer.server} / {name}: {finding.rule} at {finding.where}: {finding.why}")
        print(f"          {finding.excerpt}")


def say_corpus(report: Report) -> None:
    known = KnownNames.of(WORLD)
    for label in (*HOSTILE, PARAPHRASES, *BENIGN):
        listed = cases(label)
        hits = sum(
            any(finding.is_hard for finding in beside("sums", scan(one.definition), lambda: known)) for one in listed
        )
        report.add(Figure(f"corpus, {label}: hard findings, of {len(listed)}", 100 * hits / len(listed), "%"))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=DATA_BESIDE_THE_PROJECT, help="folder with the set toucan")
    parser.add_argument("--definitions", type=Path, help="file with the definitions of real servers")
    asked = parser.parse_args()
    report = Report("Scanner")
    say_corpus(report)
    say("real servers", 0, scanned(of_servers(asked.definitions)), report)
    say("toucan", 0.5, scanned(toucan(asked.data)), report)
    report.finish(asked.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What can be asked of the benchmark."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.search_quality.rankers import RANKERS

PARTS = ("quality", "typos", "nothing-fits", "resources", "large")
DEFAULT_PARTS = PARTS[:-1]
RANDOM_CATALOGS = 20


def options(arguments: list[str]) -> argparse.Namespace:
    about = "How well, how fast and at what price search finds tools."
    parser = argparse.ArgumentParser(prog="bench/retrieval.py", description=about)
    parser.add_argument(
        "folders", type=Path, nargs="*", metavar="DIR", help="a labelled set, or a folder of known sets"
    )
    _add_choices(parser)
    add = parser.add_argument
    add("--sample", type=int, metavar="N", help="at most N queries of each set, for a quick look")
    add("--catalogs", type=int, default=RANDOM_CATALOGS, metavar="N", help="random catalogs for nothing-fits")
    add("--cache", type=Path, metavar="DIR", help="keep vectors and indexes here for the next run")
    add(
        "--with",
        dest="earlier",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="earlier --json to compare with",
    )
    add("--json", type=Path, metavar="FILE", help="write everything to FILE, query by query")
    add("--svg", type=Path, metavar="FILE", help="draw the chart to FILE")
    return parser.parse_args(arguments)


def _add_choices(parser: argparse.ArgumentParser) -> None:
    rankers = f"only these of: {', '.join(RANKERS)}"
    parts = f"only these of: {', '.join(PARTS)}; all but the last unless asked for"
    add = parser.add_argument
    add("--sets", nargs="+", default=[], metavar="SET", help="only these")
    add("--rankers", nargs="+", default=list(RANKERS), choices=list(RANKERS), metavar="RANKER", help=rankers)
    add("--parts", nargs="+", default=list(DEFAULT_PARTS), choices=PARTS, metavar="PART", help=parts)

"""Labelled sets: tools, and queries with the tools that answer them."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolcrib.model.tool import Tool
from training.typos import mistype

DATA_BESIDE_THE_PROJECT = Path(__file__).resolve().parents[3] / "shared" / "data" / "retrieval"
LABELLED_SETS = ("azure_mcp", "metatool", "sealtools", "bfcl", "stabletoolbench")
INTENTS = "intents"
INTENT_TOOLS = "toucan"
INTENT_KINDS = ("keywords", "goal", "step")

_COPY = re.compile(r" copy \d+$")


@dataclass(frozen=True)
class Asked:
    """A query, the numbers of the tools that answer it, and what kind of query it is where the set says so."""

    text: str
    wanted: frozenset[int]
    kind: str = ""


@dataclass(frozen=True)
class LabelledSet:
    name: str
    tools: Sequence[Tool]
    queries: Sequence[Asked]

    @property
    def digest(self) -> str:
        """Equal for sets whose figures may be compared query by query."""
        lines = [f"{asked.text}\t{sorted(asked.wanted)}" for asked in self.queries]
        return hashlib.sha256("\n".join([str(len(self.tools)), *lines]).encode()).hexdigest()[:16]


def find_sets(folders: Sequence[Path], names: Sequence[str]) -> list[Path]:
    """The folders that hold a set: each given one, or the known ones in it; `names` chooses among them."""
    found: list[Path] = []
    for folder in folders:
        inner = [folder / name for name in (*LABELLED_SETS, INTENTS)]
        found += [folder] if _is_set(folder) else [one for one in inner if _is_set(one)]
    return [one for one in found if not names or one.name in names]


def _is_set(folder: Path) -> bool:
    return (folder / "validation.jsonl").is_file() or any(folder.glob("qrels.jsonl*"))


def read_set(folder: Path) -> LabelledSet:
    """One labelled set; that of the intents is about the tools in the folder `toucan` beside it."""
    if (folder / "validation.jsonl").is_file():
        tools, numbers = read_tools(folder.parent / INTENT_TOOLS)
        rows = list(_rows(folder / "validation.jsonl"))
        return LabelledSet(folder.name, tools, [asked for row in rows for asked in _intents(row, numbers)])
    tools, numbers = read_tools(folder)
    wanted: dict[str, set[int]] = {}
    for row in _rows(_file(folder, "qrels")):
        wanted.setdefault(row["query_id"], set()).add(numbers[row["tool_id"]])
    texts = {row["id"]: row["query"] for row in _rows(_file(folder, "queries"))}
    return LabelledSet(folder.name, tools, [Asked(texts[id], frozenset(right)) for id, right in wanted.items()])


def read_tools(folder: Path) -> tuple[list[Tool], dict[str, int]]:
    """The tools of a set, and the number of each id; a server's tools of one name count as one, the last."""
    tools: dict[tuple[str, str], Tool] = {}
    keys: dict[str, tuple[str, str]] = {}
    for row in _rows(_file(folder, "tools")):
        definition = {"name": row["name"], "description": row["description"], "inputSchema": row["parameters"]}
        keys[row["id"]] = key = (row["server"], row["name"])
        tools[key] = Tool.from_mcp(row["server"], definition)
    places = {key: number for number, key in enumerate(tools)}
    return list(tools.values()), {id: places[key] for id, key in keys.items()}


def sample(labelled: LabelledSet, most: int | None, chance: random.Random) -> LabelledSet:
    """The set with at most so many of its queries, in their order."""
    if most is None or most >= len(labelled.queries):
        return labelled
    picked = sorted(chance.sample(range(len(labelled.queries)), most))
    return replace(labelled, queries=[labelled.queries[number] for number in picked])


def mistyped(labelled: LabelledSet, chance: random.Random) -> LabelledSet:
    """The set with queries as people mistype them."""
    return replace(labelled, queries=[replace(asked, text=mistype(asked.text, chance)) for asked in labelled.queries])


def enlarge(tools: Sequence[Tool], count: int) -> list[Tool]:
    """So many tools: the given ones again and again, on servers of other names."""
    return [_copy(tools[number % len(tools)], number // len(tools)) for number in range(count)]


def original_server(server: str) -> str:
    """The name of the server that `enlarge` copied."""
    return _COPY.sub("", server)


def _copy(tool: Tool, number: int) -> Tool:
    return replace(tool, server=f"{tool.server} copy {number}") if number else tool


def _intents(row: dict[str, Any], numbers: dict[str, int]) -> list[Asked]:
    wanted = frozenset({numbers[row["id"]]})
    return [Asked(text, wanted, kind) for kind, text in zip(INTENT_KINDS, row["q"], strict=True)]


def _file(folder: Path, stem: str) -> Path:
    packed = folder / f"{stem}.jsonl.gz"
    return packed if packed.is_file() else folder / f"{stem}.jsonl"


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)

"""The data folder as tools, training queries and development queries."""

from __future__ import annotations

import gzip
import json
import lzma
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolcrib.model.tool import Tool
from toolcrib.search.encoder_text import description_words, name_words, parameter_words, server_words
from toolcrib.search.terms import squash
from training.bundle import POOLS

# Tools that we wrote ourselves, each with queries for it.
OWN = "own"
OWN_TOOLS = Path(__file__).parent / "written_tools.jsonl.xz"
TRAINED_POOLS = ("toucan", "metatool", "sealtools", "bfcl", "apizoo", OWN)
DEV_SETS = ("azure_mcp", "metatool", "sealtools", "bfcl", "stabletoolbench")
INTENTS = "intents"
# Queries that we wrote ourselves over tools of the data folder, the first for gaps that we saw.
GAPS = "extra_intents.jsonl.xz"
OWN_INTENTS = [Path(__file__).parent / name for name in (GAPS, "written_intents.jsonl.xz")]

MOST_METATOOL_PER_TOOL = 30
MOST_TOOLS_PER_QUERY = 8
# A name that many tools carry ("search") says nothing about which one is meant.
MOST_NAMESAKES = 3

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_JOINTS = (" and then ", " and ", ", then ", ". Also, ", ". ", "; ", ". After that, ", ", also ", " as well as ", ", ")


@dataclass(frozen=True)
class Entry:
    """A tool of a pool in the four parts the encoder reads; `group` is its server's identity within the pool."""

    key: str
    pool: str
    group: str
    tool: Tool
    is_trained: bool
    parts: tuple[str, str, str, str]


@dataclass
class Item:
    """A training query, the tools that answer it, and the part of a tool to find where that is not the whole of it."""

    source: str
    text: str
    tools: list[int]
    document: tuple[str, str, str, str] | None = None
    # The items a compound is made of.
    made_of: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class DevSet:
    name: str
    pool: str
    queries: list[tuple[str, list[int]]]


@dataclass(frozen=True)
class Corpus:
    entries: list[Entry]
    items: list[Item]
    dev_sets: list[DevSet]


def read_corpus(
    folder: Path, extra: Sequence[Path], *, is_readable: Callable[[str], bool], compounds: int, seed: int
) -> Corpus:
    """Everything in the folder; what may be trained on is kept apart from what is only measured."""
    chance = random.Random(seed)
    entries = read_entries(folder)
    _check_own(entries)
    numbers = {(entry.pool, entry.key): number for number, entry in enumerate(entries)}
    dev_sets = [*(labelled_queries(folder, name, numbers) for name in DEV_SETS), validation_queries(folder, numbers)]
    asked_in_dev = {_plain(text) for dev in dev_sets for text, _ in dev.queries}
    items = [
        *_intents("intents", folder / INTENTS / "train.jsonl", numbers, entries),
        *(item for path in extra for item in _intents("extra", path, numbers, entries)),
        *_own_items(numbers),
        *(item for name in ("metatool", "sealtools", "bfcl") for item in _labelled_training(folder, name, numbers)),
    ]
    items = [item for item in items if _plain(item.text) not in asked_in_dev and is_readable(item.text)]
    items = _capped(items, chance)
    items += list(_compounds(items, entries, compounds, chance))
    items += list(_self_supervised(entries, chance))
    return Corpus(entries, [item for item in items if _plain(item.text) not in asked_in_dev], dev_sets)


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, as it is or compressed."""
    open_file = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with open_file(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def read_entries(folder: Path, pools: Sequence[str] = POOLS) -> list[Entry]:
    """The tools of some pools, those of one server side by side."""
    kept_apart = {row["id"].split("::")[0] for row in read_rows(folder / INTENTS / "validation.jsonl")}
    entries: list[Entry] = []
    for pool in pools:
        rows = list(_own_tools() if pool == OWN else read_rows(folder / pool / "tools.jsonl.gz"))
        # Forks of a held-back server carry its name: they are held back with it.
        names = {row["server"] for row in rows if pool == "toucan" and _group(pool, row) in kept_apart}
        own = [_entry(pool, row, pool in TRAINED_POOLS and row["server"] not in names) for row in rows]
        entries += sorted(own, key=lambda entry: (entry.group, entry.key))
    return entries


def _own_tools() -> Iterator[dict[str, Any]]:
    for row in read_rows(OWN_TOOLS):
        if "name" in row:
            properties = {name: {} for name in row["parameters"]}
            yield {**row, "id": _own_key(row, row["name"]), "parameters": {"properties": properties}}


def _own_items(numbers: dict[tuple[str, str], int]) -> Iterator[Item]:
    """Queries for the tools that we wrote; a row without a name is a task for several tools of its server."""
    for row in read_rows(OWN_TOOLS):
        tools = [numbers[OWN, _own_key(row, name)] for name in row.get("tools") or [row["name"]]]
        yield from (Item("intents" if "name" in row else "extra", text, tools) for text in row["q"])


def _check_own(entries: Sequence[Entry]) -> None:
    """What we wrote ourselves must not teach the servers that are kept for measuring."""
    kept_apart = {squash(entry.tool.server) for entry in entries if entry.pool == "toucan" and not entry.is_trained}
    for entry in entries:
        if entry.pool == OWN and squash(entry.tool.server) in kept_apart:
            raise ValueError(f"{entry.tool.server} bears the name of a held-back server")


def _own_key(row: dict[str, Any], name: str) -> str:
    return f"{row['server']}::{name}"


def _entry(pool: str, row: dict[str, Any], is_trained: bool) -> Entry:
    definition = {"name": row["name"], "description": row["description"], "inputSchema": row["parameters"]}
    tool = Tool.from_mcp(row["server"], definition)
    parts = (server_words(tool.server), name_words(tool.name), description_words(tool), parameter_words(tool))
    return Entry(row["id"], pool, _group(pool, row), tool, is_trained, parts)


def _group(pool: str, row: dict[str, Any]) -> str:
    return row["id"].split("::")[0] if pool == "toucan" else row["server"]


def labelled_queries(folder: Path, name: str, numbers: dict[tuple[str, str], int]) -> DevSet:
    texts = {row["id"]: row["query"] for row in read_rows(folder / name / "queries.jsonl.gz")}
    wanted: defaultdict[str, list[int]] = defaultdict(list)
    for row in read_rows(folder / name / "qrels.jsonl.gz"):
        wanted[row["query_id"]].append(numbers[name, row["tool_id"]])
    return DevSet(name, name, [(texts[query], tools) for query, tools in wanted.items()])


def validation_queries(folder: Path, numbers: dict[tuple[str, str], int]) -> DevSet:
    rows = read_rows(folder / INTENTS / "validation.jsonl")
    queries = [(text, [numbers["toucan", row["id"]]]) for row in rows for text in row["q"]]
    return DevSet(INTENTS, "toucan", queries)


def _intents(source: str, path: Path, numbers: dict[tuple[str, str], int], entries: Sequence[Entry]) -> Iterator[Item]:
    for row in read_rows(path):
        tools = [numbers["toucan", key] for key in row.get("tools") or [row["id"]]]
        if not all(entries[number].is_trained for number in tools):
            if source == "extra":
                raise ValueError(f"{row} belongs to a held-back server")
            continue
        # Requests of one tool that we wrote ourselves are of the same kind as those that came with the data.
        kind = source if path.name == GAPS or len(tools) > 1 else "intents"
        yield from (Item(kind, text, tools) for text in row["q"])


def _labelled_training(folder: Path, name: str, numbers: dict[tuple[str, str], int]) -> Iterator[Item]:
    tools: defaultdict[str, list[int]] = defaultdict(list)
    for row in read_rows(folder / name / "train.jsonl.gz"):
        tools[row["query"]].append(numbers[name, row["tool_id"]])
    for text, own in tools.items():
        yield Item(name, text, list(dict.fromkeys(own))[:MOST_TOOLS_PER_QUERY])


def _capped(items: Sequence[Item], chance: random.Random) -> list[Item]:
    """Without the many metatool queries that ask for the same few tools."""
    kept = [item for item in items if item.source != "metatool"]
    counts: Counter[int] = Counter()
    metatool = [item for item in items if item.source == "metatool"]
    for item in chance.sample(metatool, len(metatool)):
        if max(counts[tool] for tool in item.tools) < MOST_METATOOL_PER_TOOL:
            counts.update(item.tools)
            kept.append(item)
    return kept


def _compounds(items: Sequence[Item], entries: Sequence[Entry], count: int, chance: random.Random) -> Iterator[Item]:
    """Two to four intents in one query, two times in five all of one server."""
    single = [number for number, item in enumerate(items) if len(item.tools) == 1 and len(item.text) < 160]
    real = [number for number in single if items[number].source in {"intents", "extra"}]
    other = [number for number in single if items[number].source not in {"intents", "extra"}]
    by_server: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number in real:
        entry = entries[items[number].tools[0]]
        by_server[entry.pool, entry.group].append(number)
    servers = [server for server, own in by_server.items() if len({items[number].tools[0] for number in own}) > 1]
    for _ in range(count):
        parts = chance.choice((2, 2, 2, 3, 3, 4))
        from_anywhere = real if chance.random() < 0.8 else other
        among = by_server[chance.choice(servers)] if chance.random() < 0.4 else from_anywhere
        picked = chance.sample(among, min(parts, len(among)))
        by_tool = {items[number].tools[0]: number for number in picked}
        if len(by_tool) > 1:
            yield _joined(items, list(by_tool.values()), chance)


def _joined(items: Sequence[Item], numbers: Sequence[int], chance: random.Random) -> Item:
    joint = chance.choice(_JOINTS)
    text = items[numbers[0]].text.rstrip(" .")
    for number in numbers[1:]:
        joint = joint if chance.random() < 0.5 else chance.choice(_JOINTS)
        own = items[number].text.rstrip(" .")
        starts_anew = joint.endswith(". ")
        text += joint + (own[:1].upper() + own[1:] if starts_anew else own)
    return Item("compound", text, [items[number].tools[0] for number in numbers], made_of=list(numbers))


def _self_supervised(entries: Sequence[Entry], chance: random.Random) -> Iterator[Item]:
    """A part of a tool's own text asks for the rest of it."""
    namesakes: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, entry in enumerate(entries):
        if entry.is_trained:
            namesakes[entry.pool, entry.parts[1].lower()].append(number)
    for number, entry in enumerate(entries):
        server, name, description, parameters = entry.parts
        if not entry.is_trained or len(description) < 20:
            continue
        alike = namesakes[entry.pool, name.lower()]
        if len(alike) <= MOST_NAMESAKES:
            others = [other for other in alike if other != number]
            yield Item("self", name, [number, *others], (server, "", description, parameters))
        sentences = [sentence for sentence in _SENTENCE_END.split(description) if len(sentence.split()) > 2]
        if sentences:
            yield Item("self", sentences[0][:300], [number], (server, name, "", parameters))
        if len(sentences) > 1:
            place = chance.randrange(len(sentences))
            rest = " ".join(sentences[:place] + sentences[place + 1 :])
            yield Item("self", sentences[place][:300], [number], (server, name, rest, parameters))


def _plain(text: str) -> str:
    return " ".join(text.lower().split())

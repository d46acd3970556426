"""The index agents search: tools in, ranked matches out."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolcrib.model.query import MAX_QUERY_CHARACTERS
from toolcrib.model.tool import Tool, ToolMatch
from toolcrib.search.array_types import Floats
from toolcrib.search.bm25 import Block, Bm25
from toolcrib.search.document import server_documents
from toolcrib.search.encoder import Encoder
from toolcrib.search.encoder_text import document_text
from toolcrib.search.evidence import POOL, Evidence, gather
from toolcrib.search.exact import ExactNames, closeness, is_in_parts, possible_names
from toolcrib.search.exclusion import unwanted_names, unwanted_servers
from toolcrib.search.explain import Explanation, explain_words
from toolcrib.search.group_names import is_aside, server_of
from toolcrib.search.index_file import Contents, IndexFile
from toolcrib.search.inventory import Inventory
from toolcrib.search.query_reader import QueryReader
from toolcrib.search.ranking import Ranking
from toolcrib.search.text_key import text_hash
from toolcrib.search.vectors import Vectors, from_bytes, quantized, to_bytes

Allowed = Callable[[Tool], bool]
Seeable = Callable[[int], bool]
Tags = Callable[[Tool], Iterable[str]]
Codes = NDArray[np.int8]
Scale = np.float32

_ENCODED_AT_ONCE = 64
# How likely the best is depends on how far the second lies behind, also where only one is wanted.
_FEWEST = 2
# A tool named inside of a longer request is likely meant if no other bears the name.
_MENTION_IS_MEANT = 0.9
# A name that more tools bear tells little.
_MOST_BEARERS = 3


@dataclass(frozen=True, slots=True)
class Unencoded:
    """A tool that is found by its words only, until it gets the vector of this text."""

    number: int
    text: str

    @property
    def key(self) -> bytes:
        return text_hash(self.text)


class ToolIndex:
    """Tools, found by what they do or by name; `tags` gives the words that rules attach to a tool.

    Tools given here or to `add` have their vectors when the call returns. Where that takes too long, `add_words` makes
    them searchable by their words at once; `unencoded` then tells what is left to do, and `put_vectors` takes it.
    """

    def __init__(
        self,
        tools: Iterable[Tool] = (),
        *,
        tags: Tags | None = None,
        encoder: Encoder | None = None,
        stored: IndexFile | None = None,
    ) -> None:
        self._tags = tags or _no_tags
        self._encoder = encoder or Encoder.shipped()
        contents = stored or IndexFile.nothing(self._encoder.dimensions)
        self._tools = Inventory(contents.arrays)
        self._words = Bm25(contents.terms)
        self._vectors = Vectors(self._encoder.dimensions, contents.arrays)
        self._names = ExactNames(contents.arrays)
        self._blocks = {server: Block(*span) for server, span in contents.spans.items()}
        for group, block in self._blocks.items():
            if is_aside(group):
                self._words.set_aside(block)
        self._marks = dict(contents.marks)
        # Texts still to be encoded; None where the text was not looked up yet.
        self._waiting: dict[int, str | None] = {}
        self._reader = QueryReader(self._words, self._encoder)
        if stored is None:
            self.add(tools)
        else:
            self._wait_for_vectors(self._words.size)

    @classmethod
    def load(cls, path: Path, *, tags: Tags | None = None, encoder: Encoder | None = None) -> ToolIndex:
        """An index that `save` wrote, mapped into memory; raises `IndexUnreadable`."""
        own = encoder or Encoder.shipped()
        return cls(tags=tags, encoder=own, stored=IndexFile.open(path, own))

    def save(self, path: Path) -> None:
        """Write everything to a file, all or nothing."""
        self.writer()(path)

    def writer(self) -> Callable[[Path], None]:
        """How to save the index as it is now, in whatever thread and whatever happens to the index meanwhile."""
        contents, encoder = self._contents(), self._encoder
        return lambda path: IndexFile.write(path, contents, encoder)

    def __len__(self) -> int:
        return sum(len(block.numbers) for block in self._blocks.values())

    @property
    def encoder(self) -> Encoder:
        return self._encoder

    @property
    def servers(self) -> tuple[str, ...]:
        return tuple(sorted(self._blocks))

    def count(self, server: str) -> int:
        """How many tools of a server are here."""
        block = self._blocks.get(server)
        return len(block.numbers) if block is not None else 0

    def mark(self, server: str) -> str | None:
        """What `replace` was told about a server, or None for one that is not here."""
        return self._marks.get(server, "") if server in self._blocks else None

    # -- changing

    def add(self, tools: Iterable[Tool]) -> None:
        """Add tools to their servers; one of a known server and name takes the place of the old one."""
        self.add_words(tools)
        while waiting := self.unencoded(_ENCODED_AT_ONCE):
            self.put_vectors(waiting, self._encoder.encode([one.text for one in waiting]))

    def add_words(self, tools: Iterable[Tool]) -> None:
        """The same without making vectors."""
        by_server: dict[str, dict[str, Tool]] = {}
        for tool in tools:
            by_server.setdefault(tool.server, {})[tool.name] = tool
        for server, named in by_server.items():
            known = {tool.name: tool for tool in self._tools_of(server)}
            self.replace(server, list({**known, **named}.values()))

    def replace(self, server: str, tools: Sequence[Tool], *, mark: str = "", tags: Tags | None = None) -> None:
        """Put a server's tools in place of those it had, without making vectors; none is a server without tools.

        `server` names the group: the server, or (after an @) which one of several so named. `mark` is kept with it, for the
        caller to know this state again by. `tags` are those of these tools, where they are not those of all.
        """
        vectors = self._known_vectors(server)
        self.remove(server)
        block = self._add_server(server, tools, tags or self._tags)
        self._marks[server] = mark
        self._reuse(vectors, block)

    def remove(self, server: str) -> None:
        """Forget all tools of a server; an unknown one is no error."""
        block = self._blocks.pop(server, None)
        if block is None:
            return
        self._marks.pop(server, None)
        self._words.remove(block)
        for number in block.numbers:
            self._names.remove(number, self._tools[number])
            self._waiting.pop(number, None)
        self._vectors.forget(block.numbers)
        self._tools.remove(block.numbers)
        self._reader.forget()

    def unencoded(self, most: int) -> list[Unencoded]:
        """Some of the tools that have no vector yet, first come first."""
        return [Unencoded(number, self._waiting_text(number)) for number in islice(self._waiting, most)]

    def put_vectors(self, waiting: Sequence[Unencoded], vectors: Floats) -> None:
        """Give tools their unit vectors; those that left meanwhile are passed over."""
        self.put_codes(waiting, list(zip(*quantized(vectors), strict=True)))

    def put_codes(self, waiting: Sequence[Unencoded], vectors: Sequence[tuple[Codes, Scale]]) -> None:
        """The same for vectors in the form that is kept; those of another length are passed over too."""
        fitting = [
            (one.number, codes, scale)
            for one, (codes, scale) in zip(waiting, vectors, strict=True)
            if one.number in self._waiting and len(codes) == self._encoder.dimensions
        ]
        if not fitting:
            return
        numbers, codes, scales = zip(*fitting, strict=True)
        self._vectors.put_codes(np.array(numbers), np.stack(codes), np.array(scales, dtype=np.float32))
        for number in numbers:
            del self._waiting[number]

    def put_kept(self, waiting: Sequence[Unencoded], kept: Mapping[bytes, bytes]) -> int:
        """Give tools the vectors that `kept_form` made of their texts; how many had one."""
        read = [(one, vector) for one in waiting if (vector := from_bytes(kept.get(one.key, b""))) is not None]
        self.put_codes([one for one, _ in read], [vector for _, vector in read])
        return len(read)

    @staticmethod
    def kept_form(vectors: Floats) -> list[bytes]:
        """Unit vectors as they can be kept elsewhere."""
        return [to_bytes(vector) for vector in vectors]

    # -- searching

    def search(
        self,
        query: str,
        *,
        server: str | None = None,
        among: Collection[str] | None = None,
        limit: int = 10,
        allowed: Allowed | None = None,
        aside: bool = False,
    ) -> list[ToolMatch]:
        """The best matches, best first: tools that are named, then by words and meaning.

        Only tools of one group (`server`) or of some (`among`) count, only those `allowed`, and none of a server that the
        query says it does not want; only what is in groups `aside`, or only the rest.
        """
        text = query[:MAX_QUERY_CHARACTERS]
        block = None if server is None else self._blocks.get(server)
        if not text.strip() or limit < 1 or (server is not None and block is None):
            return []
        may_be_seen = self._seeable(text, among, allowed or _anything) if server is None else allowed or _anything
        pool = max(POOL, limit)
        while True:
            seeable = self._by_number(may_be_seen, None if block else among)
            found = self._found(text, block, pool, limit, seeable, aside=aside)
            # Where most of the pool was not allowed, what is allowed may lie deeper.
            if len(found) == limit or pool >= self._words.size:
                return found
            pool *= 4

    def evidence(self, query: str, *, server: str | None = None) -> Evidence:
        """What speaks for each candidate, as `search` weighs it; for fitting the weights."""
        block = None if server is None else self._blocks.get(server)
        return gather(self._words, self._vectors, self._reader.read(query[:MAX_QUERY_CHARACTERS]), block)

    def tool(self, number: int) -> Tool:
        """The tool behind a number of the evidence."""
        return self._tools[number]

    def part(self, servers: Iterable[str]) -> ToolIndex:
        """A new index of some servers; vectors are copied, not made."""
        index = ToolIndex(tags=self._tags, encoder=self._encoder)
        for server in servers:
            index.replace(server, list(self._tools_of(server)))
            index._reuse(self._known_vectors(server), index._blocks[server])
        return index

    def explain(self, query: str, tool: Tool, *, server: str | None = None, tags: Tags | None = None) -> Explanation:
        """Which words of a query led to a tool of this index, where they are in it, and how close the meaning is."""
        text = query[:MAX_QUERY_CHARACTERS]
        group, own_tags = tool.server if server is None else server, tags or self._tags
        block, tools = self._blocks[group], list(self._tools_of(group))
        documents = server_documents(tools, [list(own_tags(one)) for one in tools])
        number, document = next(
            (number, found)
            for number, one, found in zip(block.numbers, tools, documents, strict=True)
            if one.name == tool.name
        )
        is_named = number in self._named(text, block) or number in self._mentioned(text, None, _any_number)
        whole = self._reader.read(text)[0]
        cosine = float(self._vectors.cosines(np.array([number]), whole.vector[None, :])[0, 0])
        meaning = None if math.isnan(cosine) else round(cosine, 2)
        spelled = self._reader.corrected(text)
        words = explain_words(spelled, document, self._words.__contains__)
        return Explanation(is_named, words, meaning, spelled if spelled != text else "")

    def _seeable(self, text: str, among: Collection[str] | None, allowed: Allowed) -> Allowed:
        """What is allowed, without the servers that the text does not want."""
        names = {server_of(group) for group in (self._blocks if among is None else among)}
        unwanted = unwanted_servers(text, names, self._reader.is_everyday)
        return (lambda tool: tool.server not in unwanted and allowed(tool)) if unwanted else allowed

    def _by_number(self, allowed: Allowed, among: Collection[str] | None) -> Seeable:
        """The same by number, and only within some groups where not all of them count."""
        if among is None or self._blocks.keys() <= set(among):
            return lambda number: allowed(self._tools[number])
        spans = [self._blocks[group].numbers for group in among if group in self._blocks]
        return lambda number: any(number in span for span in spans) and allowed(self._tools[number])

    def _found(
        self, text: str, block: Block | None, pool: int, limit: int, allowed: Seeable, *, aside: bool
    ) -> list[ToolMatch]:
        """Tools named in full, then the others; what is not allowed bears on nothing."""
        named = [number for number in self._named(text, block) if allowed(number)]
        mentioned = {} if named else self._mentioned(text, block, allowed)
        intents = self._reader.read(text)
        evidence = gather(self._words, self._vectors, intents, block, pool, also=list(mentioned), aside=aside)
        numbers = evidence.numbers.tolist()

        def in_order(scores: Floats) -> Iterator[int]:
            return (place for place in self._in_order(numbers, scores) if allowed(numbers[place]))

        ranking = Ranking(in_order, named=named, mentioned=mentioned, is_understood=intents[0].is_understood)
        others = ranking.best(evidence, max(limit, _FEWEST))
        matches = [ToolMatch(self._tools[number], 1.0) for number in named]
        matches += [ToolMatch(self._tools[number], round(chance, 2)) for number, chance in others]
        return matches[:limit]

    def _in_order(self, numbers: Sequence[int], fused: Floats) -> Iterator[int]:
        """Places, the best first, equals in the order of their names."""
        order = np.argsort(-fused, kind="stable").tolist()
        for _, equals in groupby(order, key=lambda place: float(fused[place])):
            own = list(equals)
            yield from sorted(own, key=lambda place: self._tie_break(numbers[place])) if len(own) > 1 else own

    def _named(self, text: str, block: Block | None) -> list[int]:
        """The tools that the text names in full, the most literally named first."""
        found = [number for number in self._names.find(text) if self._is_here(number, block)]
        return sorted(found, key=lambda number: (closeness(self._tools[number], text), *self._tie_break(number)))

    def _mentioned(self, text: str, block: Block | None, allowed: Seeable) -> dict[int, float]:
        """The tools that a longer text names, each with the least chance to be meant: the fewer bear the name, the higher."""
        chances: dict[int, float] = {}
        unwanted = set(unwanted_names(text))
        for name in possible_names(text):
            here = [number for number in self._names.find(name) if self._is_here(number, block)]
            found = [number for number in here if is_in_parts(self._tools[number].name) and allowed(number)]
            if name not in unwanted and 0 < len(found) <= _MOST_BEARERS:
                chances |= dict.fromkeys(found, _MENTION_IS_MEANT / len(found))
        return chances

    def _is_here(self, number: int, block: Block | None) -> bool:
        if block is not None:
            return number in block.numbers
        return any(number in own.numbers for own in self._blocks.values())

    def _tie_break(self, number: int) -> tuple[int, str, str]:
        tool = self._tools[number]
        return len(tool.name), tool.server, tool.name

    # -- inside

    def _add_server(self, server: str, tools: Sequence[Tool], tags: Tags) -> Block:
        block = self._words.add(server_documents(tools, [list(tags(tool)) for tool in tools]))
        self._blocks[server] = block
        if is_aside(server):
            self._words.set_aside(block)
        for number, tool in zip(block.numbers, tools, strict=True):
            self._tools.add(number, tool)
            self._names.add(number, tool)
            self._waiting[number] = document_text(tool)
        self._reader.forget()
        return block

    def _wait_for_vectors(self, size: int) -> None:
        """A stored tool without a vector is still to be encoded."""
        numbers = np.arange(size)
        self._waiting |= dict.fromkeys(numbers[~self._vectors.has(numbers)].tolist())

    def _waiting_text(self, number: int) -> str:
        text = self._waiting.get(number)
        return document_text(self._tools[number]) if text is None else text

    def _known_vectors(self, server: str) -> dict[bytes, tuple[Codes, Scale]]:
        """The vectors of a server's tools by what they were made from."""
        block = self._blocks.get(server)
        numbers = [number for number in (block.numbers if block else ()) if number not in self._waiting]
        codes, scales = self._vectors.codes(np.array(numbers, dtype=np.int64))
        keys = [text_hash(document_text(self._tools[number])) for number in numbers]
        return dict(zip(keys, zip(codes, scales, strict=True), strict=True))

    def _reuse(self, known: Mapping[bytes, tuple[Codes, Scale]], block: Block) -> None:
        """Tools that read as before keep their vectors."""
        own = [Unencoded(number, self._waiting_text(number)) for number in block.numbers] if known else []
        found = [one for one in own if one.key in known]
        self.put_codes(found, [known[one.key] for one in found])

    def _tools_of(self, server: str) -> Iterator[Tool]:
        block = self._blocks.get(server)
        return (self._tools[number] for number in (block.numbers if block else ()))

    def _contents(self) -> Contents:
        """What is to be stored, under new numbers without gaps."""
        blocks = sorted(self._blocks.items(), key=lambda own: own[1].start)
        numbers = np.concatenate([np.empty(0, dtype=np.int64), *(np.arange(b.start, b.stop) for _, b in blocks)])
        return Contents(
            servers=[(server, len(block.numbers), self._marks.get(server, "")) for server, block in blocks],
            numbers=numbers,
            texts=self._tools.snapshot(numbers.tolist()),
            names=self._names.snapshot(),
            postings=self._words.snapshot(),
            vectors=self._vectors.codes(numbers),
        )


def _no_tags(_tool: Tool) -> Iterable[str]:
    return ()


def _anything(_tool: Tool) -> bool:
    return True


def _any_number(_number: int) -> bool:
    return True

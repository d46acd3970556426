"""The search index behind the counter: opened from its file, kept up to date, taught in the background, written back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from toolcrib.errors import StoreUnavailable, ToolcribError
from toolcrib.model.tool import Tool
from toolcrib.search.loading import loaded_index

if TYPE_CHECKING:  # only names of types: the index brings numpy along, which commands that do not search can do without
    from toolcrib.search.array_types import Floats
    from toolcrib.search.index import Tags, ToolIndex, Unencoded

log = logging.getLogger(__name__)

# A batch holds a processor for a quarter of a second; other work goes on meanwhile.
BATCH_TOOLS = 24
_RECALLED_AT_ONCE = 500


class VectorStore(Protocol):
    """Where vectors are kept between runs, by the encoder that made them and a hash of the text."""

    def vectors(self, encoder: str, keys: Sequence[bytes]) -> dict[bytes, bytes]: ...

    def save_vectors(self, encoder: str, vectors: Mapping[bytes, bytes]) -> None: ...


@dataclass(frozen=True, slots=True)
class EncodingBatch:
    """Tools whose meaning is still to be worked out."""

    tools: Sequence[Unencoded]
    index: ToolIndex
    store: VectorStore

    def learn(self) -> Floats:
        """The vectors, also put where the next start finds them; safe in a worker thread."""
        encoder = self.index.encoder
        vectors = encoder.encode([tool.text for tool in self.tools])
        keyed = dict(zip((tool.key for tool in self.tools), self.index.kept_form(vectors), strict=True))
        try:
            self.store.save_vectors(encoder.identity, keyed)
        except StoreUnavailable as trouble:
            log.debug("vectors could not be kept: %s", trouble.message)
        return vectors


class SearchIndex:
    """Belongs to the event loop, but for what it says is safe elsewhere."""

    def __init__(self, store: VectorStore, *, path: Path | None, tags: Tags, max_tools: int) -> None:
        self._store = store
        self._path = path
        self._tags = tags
        self.max_tools = max_tools
        self._is_changed = False

    @cached_property
    def index(self) -> ToolIndex:
        """Opened, and its code loaded, at the first need: many commands never search."""
        kind = loaded_index()
        if self._path is not None:
            try:
                return kind.load(self._path, tags=self._tags)
            except ToolcribError as trouble:
                log.debug("the search index is made anew: %s", trouble.message)
        return kind(tags=self._tags)

    def keep_only(self, servers: Collection[str]) -> None:
        """Drop every server but these."""
        for server in set(self.index.servers) - set(servers):
            self.remove(server)

    def is_current(self, server: str, mark: str) -> bool:
        return self.index.mark(server) == mark

    def put(self, server: str, tools: Iterable[Tool], mark: str) -> None:
        """Make a server's tools searchable in place of what was known; by their words until they are learnt."""
        room = max(0, self.max_tools - len(self.index) + self.index.count(server))
        self.index.replace(server, list(tools)[:room], mark=mark)
        self._is_changed = True

    def remove(self, server: str) -> None:
        self.index.remove(server)
        self._is_changed = True

    def recall(self) -> None:
        """Take over every vector that an earlier run worked out."""
        waiting = self.index.unencoded(self.max_tools)
        for start in range(0, len(waiting), _RECALLED_AT_ONCE):
            part = waiting[start : start + _RECALLED_AT_ONCE]
            put = self.index.put_kept(part, self._known([tool.key for tool in part]))
            self._is_changed = self._is_changed or put > 0

    def next_batch(self) -> EncodingBatch | None:
        """Some tools that nothing is known of, or None."""
        waiting = self.index.unencoded(BATCH_TOOLS)
        return EncodingBatch(waiting, self.index, self._store) if waiting else None

    def take(self, batch: EncodingBatch, vectors: Floats) -> None:
        """What a batch brought."""
        self.index.put_vectors(batch.tools, vectors)
        self._is_changed = True

    def to_write(self) -> Callable[[], None] | None:
        """How to write the index as it is now, safe in a worker thread; None where nothing changed."""
        if self._path is None or not self._is_changed:
            return None
        self._is_changed = False
        path, write = self._path, self.index.writer()

        def write_quietly() -> None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write(path)
            except OSError as trouble:
                log.debug("the search index could not be written: %s", trouble)

        return write_quietly

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        try:
            return self._store.vectors(self.index.encoder.identity, keys)
        except StoreUnavailable as trouble:
            log.debug("vectors could not be looked up: %s", trouble.message)
            return {}

"""The search index of an engine: opened from its file, kept up to date, given vectors in the background, written back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    """Tools in groups, one for each server as a workspace shows it; workspaces that show the same share a group.

    Belongs to the event loop, but for what it says is safe elsewhere.
    """

    def __init__(self, store: VectorStore, *, path: Path | None, max_tools: int) -> None:
        self._store = store
        self._path = path
        self._max_tools = max_tools
        self._is_changed = False
        self._claims: dict[object, frozenset[str]] = {}

    def configure(self, *, max_tools: int) -> None:
        """Let another number of tools be searched; every workspace then indexes its servers anew."""
        self._max_tools = max_tools

    @property
    def max_tools(self) -> int:
        """How many tools can be searched."""
        return self._max_tools

    @cached_property
    def index(self) -> ToolIndex:
        """Opened, and its code loaded, at the first need: many commands never search."""
        kind = loaded_index()
        if self._path is not None:
            try:
                return kind.load(self._path)
            except ToolcribError as trouble:
                log.debug("the search index is rebuilt: %s", trouble.message)
        return kind()

    def open(self) -> None:
        """Load the index and its code now; safe in a worker thread."""
        self.index  # noqa: B018 - looking at it is what loads it

    def claim(self, owner: object, groups: Iterable[str]) -> None:
        """Say which groups a workspace searches, in place of what it said before; groups that nobody claims are dropped."""
        self._claims[owner] = frozenset(groups)
        self._drop_unclaimed()

    def release(self, owner: object) -> None:
        """The same for a workspace that is closed."""
        if self._claims.pop(owner, None):
            self._drop_unclaimed()

    def is_current(self, group: str, mark: str) -> bool:
        return self.index.mark(group) == mark

    def put(self, group: str, tools: Iterable[Tool], mark: str, tags: Tags | None = None) -> None:
        """Make tools searchable in place of what the group held; by their words until they have vectors."""
        room = max(0, self._max_tools - len(self.index) + self.index.count(group))
        self.index.replace(group, list(tools)[:room], mark=mark, tags=tags)
        self._is_changed = True

    def unencoded(self) -> list[Unencoded]:
        """The tools that have no vector yet."""
        return self.index.unencoded(self._max_tools)

    def recalled(self, waiting: Sequence[Unencoded]) -> dict[bytes, bytes]:
        """The vectors of these tools that an earlier run worked out; safe in a worker thread."""
        keys, found = [tool.key for tool in waiting], dict[bytes, bytes]()
        for start in range(0, len(keys), _RECALLED_AT_ONCE):
            found |= self._known(keys[start : start + _RECALLED_AT_ONCE])
        return found

    def recall(self) -> None:
        """Take over every vector that an earlier run worked out, at once."""
        waiting = self.unencoded()
        self.take_recalled(waiting, self.recalled(waiting))

    def take_recalled(self, waiting: Sequence[Unencoded], known: Mapping[bytes, bytes]) -> None:
        """Give tools those vectors."""
        self._is_changed = self.index.put_kept(waiting, known) > 0 or self._is_changed

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

    def _drop_unclaimed(self) -> None:
        for group in set(self.index.servers).difference(*self._claims.values()):
            self.index.remove(group)
            self._is_changed = True

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        try:
            return self._store.vectors(self.index.encoder.identity, keys)
        except StoreUnavailable as trouble:
            log.debug("vectors could not be looked up: %s", trouble.message)
            return {}

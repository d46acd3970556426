"""Which servers of the registries would fit a search that found nothing; from the mirror only, never the network."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from toolcrib.errors import StoreUnavailable
from toolcrib.registry.mirror import Mirror
from toolcrib.registry.mirror_index import MirrorIndex
from toolcrib.registry.search import RegistryIndex

# Below this a hit shares a word with the query by chance more often than not.
_FIT = 0.3
_CHECK_SECONDS = 60.0
# They stand in answers that have to stay short.
_LONGEST_NAME = 80

log = logging.getLogger(__name__)


class MirrorHints:
    """Names by query. The index over the mirror is made aside when it is first needed, so that no search waits for it.

    `run_aside` runs a function in a worker thread; until it is done there are no hints, or those of the mirror before.
    """

    def __init__(
        self,
        mirror: Mirror,
        registries: Sequence[str] = (),
        *,
        now: Callable[[], float],
        run_aside: Callable[[Callable[[], None]], object],
    ) -> None:
        self._mirror = mirror
        self._now = now
        self._run_aside = run_aside
        self.configure(registries)

    def configure(self, registries: Sequence[str]) -> None:
        """Look into the copies of other registries from now on; without any there are no hints."""
        self._registries = tuple(registries)
        self._index = MirrorIndex(self._mirror, self._registries)
        self._search: RegistryIndex | None = None
        self._checked_at: float | None = None

    def names(self, query: str, limit: int = 3) -> tuple[str, ...]:
        """Servers that fit `query` well, the best first; none where there is no mirror."""
        if not self._registries:
            return ()
        now = self._now()
        if self._checked_at is None or not 0 <= now - self._checked_at < _CHECK_SECONDS:
            self._checked_at = now
            self._run_aside(partial(self._follow, self._index))
        search = self._search
        hits = search.search(query, limit) if search is not None else []
        fitting = (hit.server for hit in hits if hit.relevance >= _FIT)
        return tuple(one.name for one in fitting if one.status == "active" and len(one.name) <= _LONGEST_NAME)

    def close(self) -> None:
        self._mirror.close()

    def _follow(self, index: MirrorIndex) -> None:
        """Take over the mirror as it is now, unless other registries count by then; called in a worker thread."""
        try:
            search = index.current()
        except StoreUnavailable as trouble:
            log.debug("no hints from the registries: %s", trouble.message)
            return
        if index is self._index:
            self._search = search

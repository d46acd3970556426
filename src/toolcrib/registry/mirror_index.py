"""The search over the copy of the registries, made anew when the copy has changed."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence

from toolcrib.registry.mirror import Mirror
from toolcrib.registry.search import RegistryIndex


class MirrorIndex:
    """Keeps the last index, in memory and beside the copy; making one takes seconds, so it belongs into a worker thread."""

    def __init__(self, mirror: Mirror, registries: Sequence[str]) -> None:
        self._mirror = mirror
        self._registries = tuple(registries)
        self._lock = threading.Lock()
        self._search: RegistryIndex | None = None
        self._mark: object = None

    def current(self) -> RegistryIndex | None:
        """The index over the copy as it is now; None where there is none. May raise StoreUnavailable."""
        with self._lock:
            if self._mirror.read_at(self._registries) is None:
                self._search = None
                return None
            mark = self._mirror.mark(self._registries)
            if self._search is None or mark != self._mark:
                place = self._mirror.beside(f"registry-{_short(mark)}.index")
                self._search = RegistryIndex(self._mirror.servers(self._registries), kept_at=place)
                self._mark = mark
            return self._search


def _short(mark: object) -> str:
    return hashlib.sha256(repr(mark).encode()).hexdigest()[:16]

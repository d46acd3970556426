"""Catalogs for tests: of both kinds, filled, failing, and as a gateway sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fakes import spec, tool
from toolcrib.catalog.store import CatalogStore, ServerRecord
from toolcrib.errors import StoreUnavailable
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.storage.sqlite import SqliteCatalog

KINDS = ("memory", "sqlite")


@contextmanager
def open_catalog(kind: str, folder: Path, **more: Any) -> Iterator[CatalogStore]:
    """An empty catalog of this kind; one that needs a file has it in the folder."""
    is_file = kind == "sqlite"
    store: CatalogStore = SqliteCatalog(folder / "catalogue.db", **more) if is_file else MemoryCatalog(**more)
    try:
        yield store
    finally:
        store.close()


class FailingCatalog(MemoryCatalog):
    """A catalog whose named methods fail, as those of one on a bad disk, while it `is_broken`; `failures` counts them."""

    def __init__(self, *methods: str, is_broken: bool = True) -> None:
        super().__init__()
        self.is_broken = is_broken
        self.failures = 0
        for name in methods:
            setattr(self, name, self._failing(getattr(self, name)))

    def _failing(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            if self.is_broken:
                self.failures += 1
                raise StoreUnavailable("the disk is gone")
            return method(*given, **named)

        return call


def save_tools(store: CatalogStore, server: str, *names: str) -> None:
    """Write down that a server was read and has these tools."""
    reading = ServerReading(Identity("modern", "1"), tuple(tool(name) for name in names))
    store.save_reading(server, spec(server).launch_key, reading, 1.0)


def record_of(store: CatalogStore, server: str) -> ServerRecord | None:
    """What the catalog knows of the only server of this name."""
    return next((record for record in store.servers().values() if record.name == server), None)

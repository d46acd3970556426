"""The two kinds of catalog, for tests that must hold for both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolcrib.catalog.store import CatalogStore
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.storage.sqlite import SqliteCatalog

KINDS = ("memory", "sqlite")


@contextmanager
def open_catalog(kind: str, folder: Path) -> Iterator[CatalogStore]:
    """An empty catalog of this kind; one that needs a file has it in the folder."""
    store: CatalogStore = SqliteCatalog(folder / "catalogue.db") if kind == "sqlite" else MemoryCatalog()
    try:
        yield store
    finally:
        store.close()

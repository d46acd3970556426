"""The search index, loaded by whoever needs it first: it brings numpy along, and most commands never search."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib.search.index import ToolIndex


def loaded_index() -> type[ToolIndex]:
    """The kind of index there is."""
    kind: type[ToolIndex] = import_module("toolcrib.search.index").ToolIndex
    return kind

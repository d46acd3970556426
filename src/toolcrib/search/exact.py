"""Find tools by the name someone typed, whatever the separators, the accents and the case."""

from __future__ import annotations

from toolcrib.model.tool import Tool
from toolcrib.search.query import MAX_QUERY_CHARACTERS
from toolcrib.search.terms import squash


class ExactNames:
    """Numbers of tools by their name and by `server:tool`."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[int]] = {}

    def add(self, number: int, tool: Tool) -> None:
        for key in _tool_keys(tool):
            self._numbers.setdefault(key, []).append(number)

    def remove(self, number: int, tool: Tool) -> None:
        """Forget a tool that was added under this number."""
        for key in _tool_keys(tool):
            self._numbers[key].remove(number)
            if not self._numbers[key]:
                del self._numbers[key]

    def find(self, text: str) -> list[int]:
        """The tools that `text` names in full."""
        keys = {_key(text), text.strip()}
        return [number for key in sorted(keys) for number in self._numbers.get(key, ())]


def closeness(tool: Tool, text: str) -> int:
    """How literally `text` names the tool, 0 being the closest, among those that `find` gave for it."""
    typed = text.strip()
    if typed == tool.id.strip():
        return 0
    if typed == tool.name.strip():
        return 1
    return 2 if _key(typed) == _key(tool.name) else 3


def _tool_keys(tool: Tool) -> set[str]:
    name = _key(tool.name)
    if not name:
        return set()
    # A name without letters or digits would leave only the server's in the key: such a tool is known by its literal id.
    full = _key(tool.id) if squash(tool.name) else tool.id.strip()
    return {name, full}


def _key(text: str) -> str:
    cut = text[:MAX_QUERY_CHARACTERS]
    return squash(cut) or cut.strip()

"""How deep a value is nested."""

from __future__ import annotations


def deeper_than(value: object, levels: int) -> bool:
    """Whether lists and objects are nested in each other more than `levels` deep; itself never nested deep."""
    level: list[object] = [value]
    for _ in range(levels + 1):
        level = [child for node in level for child in _children(node)]
        if not level:
            return False
    return True


def _children(node: object) -> list[object]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []

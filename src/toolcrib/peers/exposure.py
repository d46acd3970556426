"""Which tools peers may use: one rule for our card, for what they list and for what they call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from toolcrib.model.peer import FROM_PEER, peer_id_of
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.model.visible_tool import VisibleTool

log = logging.getLogger(__name__)

MOST_NAME_CHARACTERS = 128
_TAG = "tag:"
# What peers are told of a tool; the rest of a definition (icons, notes for clients) is ours.
_SHOWN = ("title", "description", "inputSchema", "outputSchema", "annotations")


def exposed(
    view_tools: Iterable[VisibleTool], patterns: Sequence[str], tell: Callable[[str], None] = log.warning
) -> dict[str, VisibleTool]:
    """The tools that trusted peers may use, by the names they have for peers: `<server>__<tool>`.

    Tools of other peers and of external endpoints are never among them, whatever the patterns say: nobody gets through
    us to somebody else.
    """
    found: dict[str, VisibleTool] = {}
    for visible in sorted(view_tools, key=lambda one: (one.tool.server, one.tool.name)):
        name = f"{visible.tool.server}__{visible.tool.name}"
        if not _may_be_exposed(visible) or not any(_fits(pattern, visible) for pattern in patterns):
            continue
        if name in found or len(name) > MOST_NAME_CHARACTERS:
            tell(f"{visible.tool.id} is not offered to peers: its name {name} is taken or too long")
            continue
        found[name] = visible
    return found


def unmatched(
    patterns: Iterable[str], found: Iterable[VisibleTool], specs: Iterable[ServerSpec], was_read: Callable[[str], bool]
) -> list[str]:
    """The patterns that fit none of the found tools, once every server that they could mean has been read."""
    found, own = list(found), [spec.name for spec in specs if _is_our_own(spec)]
    idle = (pattern for pattern in patterns if not any(_fits(pattern, visible) for visible in found))
    return [pattern for pattern in idle if all(was_read(server) for server in own if _may_mean(pattern, server))]


def exposed_definition(name: str, visible: VisibleTool) -> dict[str, Any]:
    """A tool as peers see it, in our card and in our list: both must have the same fingerprint."""
    given = visible.tool.shown
    shown = {key: given[key] for key in _SHOWN if given.get(key) is not None}
    return {"name": name, "inputSchema": {"type": "object"}, **shown}


def _may_be_exposed(visible: VisibleTool) -> bool:
    return visible.availability.state == "enabled" and visible.spec is not None and _is_our_own(visible.spec)


def _is_our_own(spec: ServerSpec) -> bool:
    is_peer = isinstance(spec.launch, RemoteLaunch) and peer_id_of(spec.launch.url) is not None
    return not is_peer and not spec.contract and spec.origin.source != FROM_PEER


def _may_mean(pattern: str, server: str) -> bool:
    return pattern.startswith(_TAG) or fnmatchcase(server, pattern.partition(":")[0])


def _fits(pattern: str, visible: VisibleTool) -> bool:
    if pattern.startswith(_TAG):
        return pattern.removeprefix(_TAG) in visible.tags
    server, colon, tool = pattern.partition(":")
    return fnmatchcase(visible.tool.server, server) and (not colon or fnmatchcase(visible.tool.name, tool))

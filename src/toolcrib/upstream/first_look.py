"""The first call on a new link waits for a look at what the server lists: it may have come back as something else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolcrib.errors import CallTimeout, ServerMovedOn, ToolsListFailed
from toolcrib.model.call import ToolCall
from toolcrib.model.items import ItemKind
from toolcrib.model.reading import ListKind, ServerListing
from toolcrib.model.tool import Tool

log = logging.getLogger(__name__)

# A server that takes longer to list what it has is believed for the moment: nothing that it says then is shown to anybody.
LOOK_SECONDS = 10.0
# What a call names and a server defines. Resources are data, which come and go.
_LISTS: Mapping[ItemKind, ListKind] = {"tool": "tools", "prompt": "prompts"}

Fingerprints = Mapping[str, str]
ListNow = Callable[[ListKind], Awaitable[ServerListing]]


class FirstLook:
    """Looks once at each list of a link; calls that come meanwhile wait for the same look, and later ones for nothing."""

    def __init__(self, on_moved: Callable[[], None]) -> None:
        self._on_moved = on_moved
        self._link: object = None
        self._listed: dict[ListKind, Fingerprints | None] = {}
        self._turn = asyncio.Lock()

    def was_read(self, link: object) -> None:
        """All that a link lists was read just now by somebody else."""
        self._link, self._listed = link, dict.fromkeys(_LISTS.values())

    def is_over(self, link: object, call: ToolCall) -> bool:
        """Whether a call on this link has nothing to wait for."""
        kind = _list_of(call)
        return kind is None or (link is self._link and kind in self._listed)

    async def before(self, call: ToolCall, link: object, list_now: ListNow) -> None:
        """Raise ServerMovedOn where the server does not list the tool as it was when it was looked up for the call."""
        kind, target = _list_of(call), call.target
        if kind is None or target is None:
            return
        async with self._turn:
            if link is not self._link:
                self._link, self._listed = link, {}
            if kind not in self._listed:
                self._listed[kind] = await self._look(kind, list_now)
            listed = self._listed[kind]
        if listed is not None and listed.get(target.upstream_name) != target.tool.fingerprint:
            self._on_moved()
            raise ServerMovedOn(
                f"{target.tool.id} was not run: its server has another definition of it by now.",
                hint="Look it up again with get_tool_details.",
            )

    async def _look(self, kind: ListKind, list_now: ListNow) -> Fingerprints | None:
        """What is listed now; None where that can't be told."""
        try:
            listing = await list_now(kind)
        except (ToolsListFailed, CallTimeout) as failure:
            log.debug("a server that was started for a call could not be looked at first: %s", failure.message)
            return None
        # Of two with one name the first counts, as in the catalog.
        return {str(one.get("name")): _fingerprint(kind, one) for one in reversed(listing.items)}


def _list_of(call: ToolCall) -> ListKind | None:
    # A request about a task is about something that runs already.
    return _LISTS.get(call.target.tool.kind) if call.target is not None and call.task is None else None


def _fingerprint(kind: ListKind, definition: Mapping[str, Any]) -> str:
    return Tool("", "", definition, "tool" if kind == "tools" else "prompt").fingerprint

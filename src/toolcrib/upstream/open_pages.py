"""Pages that servers want a person to open: the client that was asked hears when the server is done with one."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

import msgspec

from toolcrib.model.asking import Conversation, pages_in
from toolcrib.wire.protocol import ELICITATION_COMPLETE

KEPT_SECONDS = 600.0
MOST_KEPT = 1_000
MOST_ID_CHARACTERS = 512


class _Page(msgspec.Struct, rename="camel"):
    elicitation_id: Any = None


_page = msgspec.json.Decoder(_Page).decode


class OpenPages:
    """Whom to tell of which elicitation, by its id; nobody hears of a page that they were not asked to open."""

    def __init__(self) -> None:
        self._asked: OrderedDict[tuple[str, int], tuple[Conversation, float]] = OrderedDict()
        # Notices that came before we knew whom they concern: an answer and what follows it are read in one go.
        self._early: OrderedDict[str, tuple[bytes, float]] = OrderedDict()

    def note_question(self, params: bytes, client: Conversation) -> None:
        """A client is asked to open a page."""
        self._note(_id_in(params), client)

    def note_error(self, data: object, client: Conversation | None) -> None:
        """The same for all pages that an error names."""
        for page in pages_in(data) if client is not None else ():
            self._note(page.get("elicitationId"), client)

    def complete(self, params: bytes) -> None:
        """Tell whoever was asked that a page is done with."""
        page, now = _id_in(params), asyncio.get_running_loop().time()
        if not _is_id(page):
            return
        clients = [client for (id, _), (client, until) in self._asked.items() if id == page and until > now]
        self._asked = OrderedDict((key, kept) for key, kept in self._asked.items() if key[0] != page)
        for client in clients:
            client.tell(ELICITATION_COMPLETE, params)
        if not clients:
            self._early[page] = (params, now + KEPT_SECONDS)
            _trim(self._early)

    def _note(self, page: object, client: Conversation | None) -> None:
        if client is None or not isinstance(page, str) or not _is_id(page):
            return
        now = asyncio.get_running_loop().time()
        params, until = self._early.pop(page, (b"", 0.0))
        if until > now:
            client.tell(ELICITATION_COMPLETE, params)
            return
        self._asked[page, id(client)] = (client, now + KEPT_SECONDS)
        _trim(self._asked)


def _is_id(page: object) -> bool:
    return isinstance(page, str) and 0 < len(page) <= MOST_ID_CHARACTERS


def _id_in(params: bytes) -> Any:
    try:
        return _page(params).elicitation_id
    except (msgspec.DecodeError, RecursionError):
        return None


def _trim(kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > MOST_KEPT:
        kept.popitem(last=False)

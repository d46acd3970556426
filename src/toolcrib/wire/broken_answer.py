"""An answer that can't be read: whose it is can often be told from its beginning or its end."""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolcrib.wire.jsonrpc import NO_ANSWER, BadMessage, RpcError

_LOOKED_AT_BYTES = 256
_VERSION = rb'"jsonrpc"\s*:\s*"[^"\\]{0,16}"'
_ANY_ID = rb'"id"\s*:\s*(?:"[^"\\]{0,64}"|-?\d{1,18}|null)'
# What comes before the first value that could hold others belongs to the message itself.
_BEGINNING = re.compile(rb'\s*\{\s*((?:(?:%b|%b)\s*,\s*){0,2})"(?:result|error)"\s*:' % (_VERSION, _ANY_ID))
_ENDING = re.compile(rb",\s*(?:%b\s*,\s*)?(%b)\s*(?:,\s*%b\s*)?\}\s*$" % (_VERSION, _ANY_ID, _VERSION))
_ID = re.compile(rb'"id"\s*:\s*(.*?)\s*(?:,|$)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class BrokenAnswer:
    """An answer that can't be read; `id` is None where the request that it belongs to can't be told."""

    id: int | None


def broken_answer(text: bytes) -> BrokenAnswer | None:
    """What is known of a message that can't be read; None where it is no answer, or none to a request of ours."""
    beginning = _BEGINNING.match(text[:_LOOKED_AT_BYTES])
    if beginning is None:
        return None
    ids = _ID.findall(beginning[1]) or _ids_at_end(text)
    if len(ids) != 1:
        return BrokenAnswer(None)
    is_ours = ids[0].isdigit()
    return BrokenAnswer(int(ids[0])) if is_ours else None


def malformed(problem: BadMessage) -> RpcError:
    """What becomes of the request."""
    return RpcError(NO_ANSWER, f"the server sent a malformed answer: {problem}")


def _ids_at_end(text: bytes) -> list[bytes]:
    # The end of a text that was cut off is that of something inside of it.
    if text.count(b"{") != text.count(b"}"):
        return []
    ending = _ENDING.search(text[-_LOOKED_AT_BYTES:])
    return [] if ending is None else _ID.findall(ending[1])

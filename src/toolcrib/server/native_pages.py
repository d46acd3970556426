"""Lists in pages; where one goes on does not change when something else comes or goes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import msgspec

from toolcrib.wire.jsonrpc import INVALID_PARAMS, RpcError

PAGE = 200

_decode = msgspec.json.Decoder(tuple[int, str]).decode


def page_of(names: Sequence[str], cursor: object) -> tuple[Sequence[str], str | None]:
    """The names from a cursor on, as many as fit a page, and the cursor of the next page; raises RpcError for an odd cursor."""
    start = 0 if cursor is None else _place(names, cursor)
    shown = names[start : start + PAGE]
    stop = start + len(shown)
    return shown, _cursor(stop, shown[-1]) if stop < len(names) else None


def _cursor(offset: int, last: str) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((offset, last))).decode()


def _place(names: Sequence[str], cursor: object) -> int:
    """Behind the last one that was shown, or where that was if it is gone."""
    try:
        offset, last = _decode(base64.urlsafe_b64decode(str(cursor).encode()))
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise RpcError(INVALID_PARAMS, "this cursor is none of ours: list from the beginning") from None
    if offset < 0:
        raise RpcError(INVALID_PARAMS, "this cursor is none of ours: list from the beginning")
    return names.index(last) + 1 if last in names else offset

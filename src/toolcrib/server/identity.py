"""Who we say we are: at the handshake, and in the modern era beside every result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from toolcrib.server.results import Members
from toolcrib.version import VERSION
from toolcrib.wire.jsonrpc import Json
from toolcrib.wire.protocol import SERVER_INFO_META_KEY

NAME: Final = "toolcrib"
TITLE: Final = "Toolcrib"
SERVER_INFO: Final[Mapping[str, str]] = {"name": NAME, "title": TITLE, "version": VERSION}
# What the modern era wants in the `_meta` of every result.
STAMP: Final[Mapping[str, Any]] = {SERVER_INFO_META_KEY: SERVER_INFO}
COMPLETE: Final = "complete"

_encode = msgspec.json.Encoder().encode


def stamped(members: Members) -> dict[str, Json]:
    """An answer with what the modern era wants on it besides: it is complete unless it says something else."""
    given = members.get("_meta")
    meta = msgspec.json.decode(given) if given is not None else {}
    with_stamp = {**meta, **STAMP} if isinstance(meta, dict) else STAMP
    return {"resultType": _encode(COMPLETE), **members, "_meta": _encode(with_stamp)}

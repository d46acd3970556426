"""An answer of our own as a tool result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolcrib.model.clean_text import escape_unsafe

encode = msgspec.json.Encoder().encode


def text_result(answer: Mapping[str, Any], *, is_error: bool = False) -> dict[str, msgspec.Raw]:
    """A tool result of one text block that holds `answer`."""
    return text_members(escape_unsafe(encode(answer).decode()).encode(), is_error=is_error)


def text_members(json_text: bytes, *, is_error: bool = False) -> dict[str, msgspec.Raw]:
    content = b'[{"type":"text","text":%b}]' % encode(json_text.decode())
    members = {"content": msgspec.Raw(content)}
    if is_error:
        members["isError"] = msgspec.Raw(b"true")
    return members

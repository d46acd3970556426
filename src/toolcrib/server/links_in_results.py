"""The addresses of resources that a result leads to; nothing else of it is decoded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw

from toolcrib.model.call import ToolResult
from toolcrib.model.large_json import small_value

_LINK = b"resource_link"
_MOST_ADDRESS_BYTES = 64 * 1024


class _Block(msgspec.Struct):
    """As much of a content block as tells what it leads to."""

    type: Any = None
    uri: Raw = Raw(b"null")


class _Message(msgspec.Struct):
    """As much of a message of a prompt."""

    content: Raw = Raw(b"null")


_items = msgspec.json.Decoder(list[Raw]).decode
_block = msgspec.json.Decoder(_Block).decode
_message = msgspec.json.Decoder(_Message).decode


def links_in(result: ToolResult) -> Iterator[str]:
    """In its content blocks, and in the messages of a prompt."""
    if _is_text_alone(result) or _LINK not in bytes(result.raw):
        return
    for block in (*_items_of(result, "content"), *_contents_of_messages(result)):
        try:
            found = _block(block)
        except (msgspec.DecodeError, RecursionError):
            continue
        if found.type == "resource_link" and isinstance(uri := small_value(found.uri, _MOST_ADDRESS_BYTES), str):
            yield uri


def _is_text_alone(result: ToolResult) -> bool:
    # Found out before, and quicker than looking through a megabyte of it.
    return result.is_one_text and "messages" not in result.members


def _contents_of_messages(result: ToolResult) -> Iterator[Raw]:
    for message in _items_of(result, "messages"):
        try:
            yield _message(message).content
        except (msgspec.DecodeError, RecursionError):
            continue


def _items_of(result: ToolResult, name: str) -> list[Raw]:
    try:
        return _items(result.members.get(name, b"[]"))
    except (msgspec.DecodeError, RecursionError):
        return []

"""What a result says, without the envelope it came in."""

from __future__ import annotations

from typing import Any

from toolcrib.model.call import ToolResult


class _NoPayload(ValueError):
    """A result of images, files or nothing at all: there is no value in it whose shape could be told."""


def payload(result: ToolResult) -> Any:
    """The structured content, else the single text parsed where it is JSON, else the texts as one; ValueError where it is none of these."""
    if result.structured_json is not None:
        return result.value
    kinds = [block.get("type") for block in result.content]
    if not kinds or any(kind != "text" for kind in kinds):
        raise _NoPayload("the result is not a text")
    return result.text if result.only_text is None else result.value

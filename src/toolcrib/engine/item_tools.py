"""The built-in tools for prompts and resources, as they are run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolcrib.built_in.item_definitions import COMPLETE, GET_PROMPT, LIST_PROMPTS, LIST_RESOURCES, READ_RESOURCE
from toolcrib.built_in.server import BuiltInTool
from toolcrib.gateway import Gateway
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.clean_text import escape_unsafe
from toolcrib.model.items import ItemKind
from toolcrib.queries.listing import item_page


def item_tools(gateway: Gateway) -> Mapping[str, BuiltInTool]:
    """What runs each of them."""

    async def list_resources(call: ToolCall) -> ToolResult:
        return await _listed(gateway, call, "resources", ("resource", "template"))

    async def list_prompts(call: ToolCall) -> ToolResult:
        return await _listed(gateway, call, "prompts", ("prompt",))

    async def complete(call: ToolCall) -> ToolResult:
        given = {name: str(call.arguments.get(name, "")) for name in ("server", "ref", "argument", "value")}
        found = await gateway.complete(
            given["server"], given["ref"], given["argument"], given["value"], caller=call.caller
        )
        return _answer(found)

    return {
        LIST_RESOURCES: list_resources,
        LIST_PROMPTS: list_prompts,
        COMPLETE: complete,
        READ_RESOURCE: gateway.run_meant,
        GET_PROMPT: gateway.run_meant,
    }


async def _listed(gateway: Gateway, call: ToolCall, noun: str, kinds: tuple[ItemKind, ...]) -> ToolResult:
    server, offset = call.arguments.get("server"), int(call.arguments.get("offset") or 0)
    if server is not None and not gateway.knows(server, caller=call.caller):
        raise gateway.missing(server, "", caller=call.caller)
    found = await gateway.list_items(*kinds, server=server, caller=call.caller)
    return _answer(item_page(noun, found, offset))


def _answer(answer: Mapping[str, Any]) -> ToolResult:
    return ToolResult.of({"content": [{"type": "text", "text": escape_unsafe(msgspec.json.encode(answer).decode())}]})

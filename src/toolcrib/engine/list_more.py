"""`toolcrib:list_more`: the rest of a list that one answer could not hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolcrib.gateway import Gateway
from toolcrib.model.call import ToolResult
from toolcrib.model.caller import Caller
from toolcrib.model.clean_text import escape_unsafe
from toolcrib.queries.listing import server_page, tool_page


async def listed_more(gateway: Gateway, arguments: Mapping[str, Any], caller: Caller) -> ToolResult:
    """The servers, or the tools of one, from an offset on; raises where no server has that name."""
    server, offset = arguments.get("server"), int(arguments.get("offset") or 0)
    if server is None:
        answer = server_page(await gateway.list_servers(caller=caller), offset)
    elif not gateway.knows(server, caller=caller):
        raise gateway.missing(server, "", caller=caller)
    else:
        include_disabled = bool(arguments.get("includeDisabled"))
        found = await gateway.list_tools(server, include_disabled=include_disabled, caller=caller)
        answer = tool_page(server, found, offset)
    return ToolResult.of({"content": [{"type": "text", "text": escape_unsafe(msgspec.json.encode(answer).decode())}]})

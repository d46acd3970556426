"""A template of resources is read at the address that its arguments make of it."""

from __future__ import annotations

from toolcrib.calls.chain import CallTool
from toolcrib.errors import InvalidArguments, Problem
from toolcrib.model.call import Target, ToolCall, ToolResult
from toolcrib.model.items import RESOURCE
from toolcrib.model.uri_template import OddTemplate, expanded
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.lookup import admitted

_WHOLE_ADDRESS = "Read the whole address: execute_tool, server toolcrib, tool read_resource, arguments {server, uri}."


class FillTemplate:
    """Puts the resource in place of its template, if the caller may read that one too."""

    def __init__(self, view: CatalogView) -> None:
        self._view = view

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        target = call.target
        if target is None or target.tool.kind != "template":
            return await call_next(call)
        try:
            uri = expanded(target.upstream_name, {name: str(value) for name, value in call.arguments.items()})
        except OddTemplate as problem:
            reason = f"its template {target.upstream_name} can't be filled in: {problem}"
            raise InvalidArguments([Problem("arguments", reason)], hint=_WHOLE_ADDRESS) from None
        visible = admitted(self._view, call.server, f"{RESOURCE}{uri}", call.caller)
        # Where a rule wants a question about either of the two, it is asked.
        confirm = target.confirm or visible.confirm
        resource = Target(visible.tool, visible.upstream_name, visible.spec, confirm)
        return await call_next(call.but(target=resource, arguments={}, raw_arguments=b"{}"))

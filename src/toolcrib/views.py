"""The stock as callers are shown it, the same for the gateway and for commands that only read."""

from __future__ import annotations

from toolcrib.errors import ValidationError
from toolcrib.model.status import ServerStatus
from toolcrib.model.view import SearchHit, ServerSummary, ToolSummary
from toolcrib.stock import Stock, StockedTool


def server_view(stock: Stock, name: str, status: ServerStatus) -> ServerSummary:
    """One server; `status` is what its connection says, and the reason of the last failed reading is added."""
    spec, shelf = stock.specs[name], stock.shelf(name)
    return ServerSummary(
        name=name,
        description=spec.description or _own_words(stock, name),
        tool_count=len(shelf),
        enabled_count=sum(stocked.enabled for stocked in shelf.values()),
        status=_with_error(stock, name, status),
        title=spec.title,
        transport=spec.launch.transport,
    )


def tool_view(stocked: StockedTool) -> ToolSummary:
    tool = stocked.tool
    return ToolSummary(tool.server, tool.name, tool.summary, stocked.enabled, stocked.tags)


def hit_view(stocked: StockedTool, relevance: float) -> SearchHit:
    tool = stocked.tool
    return SearchHit(tool.server, tool.name, tool.summary, relevance, stocked.tags, stocked.enabled)


def check_query(query: str, limit: int | None, *, longest: int) -> None:
    """Refuse a search nobody could answer."""
    if not query.strip():
        raise ValidationError("query is empty: say in a few words what the tool should do")
    if len(query) > longest:
        raise ValidationError(f"query is {len(query)} characters long; at most {longest} are read")
    if limit is not None and limit < 1:
        raise ValidationError(f"limit must be 1 or more, not {limit}")


def _own_words(stock: Stock, name: str) -> str:
    identity = stock.identity(name)
    described = str(identity.server_info.get("description") or "") if identity is not None else ""
    return described or f"MCP server: {name}"


def _with_error(stock: Stock, name: str, status: ServerStatus) -> ServerStatus:
    record = stock.record(name)
    if status.state == "disconnected" and record is not None and record.error:
        return ServerStatus("error", record.error)
    return status

"""Looking a tool up for a caller, and what to say when a name leads nowhere."""

from __future__ import annotations

from toolcrib.errors import ServerNotFound, ToolcribError, ToolDisabled, ToolNotFound
from toolcrib.model.advice import NO_SERVERS
from toolcrib.search.suggest import nearest
from toolcrib.stock import Stock, StockedTool

MOST_NAMES = 20


def admitted(stock: Stock, server: str, tool: str) -> StockedTool:
    """The tool of that name, if it exists and the rules enable it; else the error to answer with is raised."""
    stocked = stock.find(server, tool)
    if stocked is None or not stocked.enabled:
        raise missing(stock, server, tool)
    return stocked


def missing(stock: Stock, server: str, tool: str) -> ToolcribError:
    """The error for a tool that can't be had: disabled, or not there, with the names that may have been meant."""
    stocked = stock.find(server, tool)
    if stocked is not None:
        return ToolDisabled(
            f"{stocked.tool.id} is disabled: {stocked.reason}",
            hint="Only the person who runs this gateway can enable it; look for another tool with search_tools.",
        )
    if not stock.knows(server):
        known = "list_mcp_servers shows all servers; search_tools finds a tool on any of them."
        return ServerNotFound(
            f"no server is called {server!r}",
            hint=known if stock.specs else NO_SERVERS,
            nearest=nearest(server, stock.specs),
        )
    visible = [name for name, stocked in stock.shelf(server).items() if stocked.enabled]
    return ToolNotFound(
        f"{server!r} has no tool {tool!r}" + _unread(stock, server),
        hint="Use one of the names given, or search_tools.",
        nearest=nearest(tool, visible),
        available=sorted(visible)[:MOST_NAMES],
        more=max(0, len(visible) - MOST_NAMES),
    )


def _unread(stock: Stock, server: str) -> str:
    record = stock.record(server)
    if stock.was_read(server) or record is None or not record.error:
        return ""
    return f"; its tools could not be read: {record.error}"

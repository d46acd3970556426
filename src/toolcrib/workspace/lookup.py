"""Looking a tool up for a caller, and what to say when a name leads nowhere."""

from __future__ import annotations

from toolcrib.errors import ServerNotFound, ToolcribError, ToolNotFound
from toolcrib.model.advice import no_servers
from toolcrib.model.caller import LIBRARY, Caller
from toolcrib.model.items import ITEM_PREFIXES
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.search.suggest import nearest
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.readable import found

MOST_NAMES = 20


def admitted(view: CatalogView, server: str, tool: str, caller: Caller = LIBRARY) -> VisibleTool:
    """The tool of that name, if it exists and the caller may use it; else the error to answer with is raised."""
    visible = found(view, server, tool, caller)
    if visible is None or not visible.enabled:
        raise missing(view, server, tool, caller)
    return visible


def missing(view: CatalogView, server: str, tool: str, caller: Caller = LIBRARY) -> ToolcribError:
    """The error for a tool that can't be had: why it may not be used, or the names that may have been meant."""
    visible = found(view, server, tool, caller)
    refusal = None if visible is None else visible.availability.refusal(visible.tool.id)
    if refusal is not None:
        return refusal
    if not view.knows(server, caller):
        known = "list_mcp_servers shows all servers; search_tools finds a tool on any of them."
        return ServerNotFound(
            f"no server is called {server!r}",
            hint=known if view.servers(caller) else no_servers(caller.rights),
            nearest=nearest(server, view.servers(caller)),
        )
    is_item = tool.startswith(ITEM_PREFIXES)
    offered = view.items(server, caller) if is_item else view.tools(server, caller)
    names = [name for name, visible in offered.items() if visible.enabled]
    return ToolNotFound(
        f"{server!r} has no {'' if is_item else 'tool '}{tool!r}" + _unread(view, server),
        hint="Use one of the names given, or search_tools.",
        nearest=nearest(tool, names),
        available=sorted(names)[:MOST_NAMES],
        more=max(0, len(names) - MOST_NAMES),
    )


def _unread(view: CatalogView, server: str) -> str:
    record = view.record(server)
    if view.was_read(server) or record is None or not record.error:
        return ""
    return f"; its tools could not be read: {record.error}"

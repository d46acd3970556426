"""Looking a tool up for a caller, and what to say when a name leads nowhere."""

from __future__ import annotations

from toolcrib.errors import ServerNotFound, ToolcribError, ToolDisabled, ToolNotFound
from toolcrib.model.advice import NO_SERVERS
from toolcrib.search.suggest import nearest
from toolcrib.workspace.catalog_view import CatalogView, VisibleTool

MOST_NAMES = 20


def admitted(view: CatalogView, server: str, tool: str) -> VisibleTool:
    """The tool of that name, if it exists and the rules enable it; else the error to answer with is raised."""
    visible = view.find(server, tool)
    if visible is None or not visible.enabled:
        raise missing(view, server, tool)
    return visible


def missing(view: CatalogView, server: str, tool: str) -> ToolcribError:
    """The error for a tool that can't be had: disabled, or not there, with the names that may have been meant."""
    visible = view.find(server, tool)
    if visible is not None:
        return ToolDisabled(
            f"{visible.tool.id} is disabled: {visible.reason}",
            hint="Only the person who runs this gateway can enable it; look for another tool with search_tools.",
        )
    if not view.knows(server):
        known = "list_mcp_servers shows all servers; search_tools finds a tool on any of them."
        return ServerNotFound(
            f"no server is called {server!r}",
            hint=known if view.specs else NO_SERVERS,
            nearest=nearest(server, view.specs),
        )
    names = [name for name, visible in view.tools(server).items() if visible.enabled]
    return ToolNotFound(
        f"{server!r} has no tool {tool!r}" + _unread(view, server),
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

"""Servers and tools as callers are shown them, the same for every face."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from toolcrib.config.written_entry import entry_of
from toolcrib.masking.entries import masked_entry
from toolcrib.model.caller import LIBRARY, Caller
from toolcrib.model.clean_text import clean_words
from toolcrib.model.server import BUILT_IN_SERVER, ServerSpec
from toolcrib.model.status import ServerStatus
from toolcrib.model.view import SearchHit, ServerSummary, ToolSummary
from toolcrib.model.visible_tool import VisibleTool, VisibleTools
from toolcrib.topics.domains import extract_primary_domain, infer_domains, topics
from toolcrib.topics.topic_words import known_topics
from toolcrib.workspace.catalog_view import CatalogView


def server_view(view: CatalogView, name: str, status: ServerStatus, caller: Caller = LIBRARY) -> ServerSummary:
    """One server; `status` is what its connection says, and the reason of the last failed reading is added."""
    spec, tools = view.specs[name], view.tools(name, caller)
    return ServerSummary(
        name=name,
        description=spec.description or _own_words(view, name, caller),
        tool_count=len(tools),
        enabled_count=sum(visible.enabled for visible in tools.values()),
        waiting_count=_waiting(tools) + _waiting(view.items(name, caller)),
        status=_with_error(view, name, status),
        title=spec.title,
        transport=spec.launch.transport,
        configure=partial(shown_entry, spec),
    )


def shown_entry(spec: ServerSpec) -> Mapping[str, Any]:
    """A server's entry as it may be shown."""
    entry: Mapping[str, Any] = masked_entry(entry_of(spec))
    return entry


def tool_view(visible: VisibleTool) -> ToolSummary:
    tool = visible.tool
    reason = "" if visible.enabled else visible.availability.reason
    # The words of what nobody agreed to are not for agents.
    unreviewed, waits = visible.availability.hides_words, visible.availability.waits
    summary = "" if unreviewed else tool.summary
    return ToolSummary(
        tool.server, tool.name, summary, visible.enabled, visible.tags, reason, tool.kind, waits, unreviewed
    )


def _waiting(tools: VisibleTools) -> int:
    return sum(visible.availability.waits for visible in tools.values())


def hit_view(visible: VisibleTool, relevance: float) -> SearchHit:
    tool = visible.tool
    return SearchHit(tool.server, tool.name, tool.summary, relevance, visible.tags, visible.enabled, tool.kind)


def near_domains(hits: Sequence[SearchHit]) -> tuple[str, ...]:
    """What the tools of servers are about that come closest, each domain once."""
    own = (hit for hit in hits if hit.server != BUILT_IN_SERVER)
    return tuple(dict.fromkeys(infer_domains(hit.server, hit.tool)[0] for hit in own))


def _own_words(view: CatalogView, name: str, caller: Caller) -> str:
    identity = view.identity(name)
    described = str(identity.server_info.get("description") or "") if identity is not None else ""
    return clean_words(described) or _told_by_its_tools(view, name, caller) or f"MCP server: {name}"


def _told_by_its_tools(view: CatalogView, name: str, caller: Caller) -> str:
    """`github: issues, pull requests, files`, from the names of the tools that may be used."""
    domain = extract_primary_domain(name)
    found = [topic for topic in topics(_enabled_names(view, name, caller)) if topic != domain]
    return f"{domain}: {', '.join(found)}" if found else ""


def known_topics_of(view: CatalogView, servers: Iterable[str], most: int, caller: Caller = LIBRARY) -> list[str]:
    """What the tools of some servers are about, only in words we know: this text stands where clients trust it."""
    return known_topics((tool for name in servers for tool in _enabled_names(view, name, caller)), most)


def _enabled_names(view: CatalogView, name: str, caller: Caller) -> Iterable[str]:
    return (visible.upstream_name for visible in view.tools(name, caller).values() if visible.enabled)


def _with_error(view: CatalogView, name: str, status: ServerStatus) -> ServerStatus:
    record = view.record(name)
    if status.state == "disconnected" and record is not None and record.error:
        return ServerStatus("error", record.error)
    return status

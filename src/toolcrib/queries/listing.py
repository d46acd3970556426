"""Lists of servers and tools within a budget of tokens: summaries first, then names, then how to see the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import ceil
from typing import Any, Generic, TypeVar

import msgspec

from toolcrib.model.advice import SWITCHED_OFF, no_servers
from toolcrib.model.caller import EVERYTHING, Rights
from toolcrib.model.server import BUILT_IN_SERVER
from toolcrib.model.token_estimate import estimated_tokens
from toolcrib.model.tool import summarize
from toolcrib.model.view import ServerSummary, ToolSummary
from toolcrib.queries.json_forms import Answer, server_json, tool_json, without_empty

SERVERS_TOKENS = 600
TOOLS_TOKENS = 500
PAGE_TOKENS = 960
# For the note, and for what stands around the list.
FRAME_TOKENS = 60
SUMMARY_LENGTHS = (100, 70, 50)
REASON_CHARACTERS = 200
# With fewer summaries than these, names of all the others are not worth their room.
LEAST_SUMMARIES = 8
LIST_MORE = "list_more"
# So many servers are named of which something waits for a person.
MOST_NAMED = 5

T = TypeVar("T", ServerSummary, ToolSummary)

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class _Page(Generic[T]):
    """The first of a list as they are shown, and those of the rest that are at least named."""

    entries: list[Answer]
    named: Sequence[T] = ()
    total: int = 0

    @property
    def is_whole(self) -> bool:
        return len(self.entries) == self.total


def server_list(found: Sequence[ServerSummary], *, enabled: bool, rights: Rights = EVERYTHING) -> Answer:
    """The answer to `list_mcp_servers`."""
    if not enabled or not found:
        return {"servers": [], "note": no_servers(rights) if enabled else SWITCHED_OFF}
    note = review_note({one.name: one.waiting_count for one in found})
    page = _packed(found, _broken_first(found), SERVERS_TOKENS - _room_for(note), _server, _short_server)
    return _with_note(_servers_answer(page), note)


def _servers_answer(page: _Page[ServerSummary]) -> Answer:
    answer: Answer = {"servers": page.entries}
    if page.is_whole:
        return answer
    if page.named:
        answer["more"] = [server.name for server in page.named]
        answer["note"] = (
            f"{len(page.entries)} of {page.total} servers are described; more names the others. list_tools shows the "
            "tools of one, search_tools finds tools on all."
        )
    else:
        answer["note"] = (
            f"{_counted(page, 'servers')} search_tools finds tools on all. {_how({'offset': len(page.entries)})}"
        )
    return answer


def tool_list(server: str, found: Sequence[ToolSummary], trouble: str = "", waiting: int = 0) -> Answer:
    """The answer to `list_tools`; `trouble` says why nothing is known, and `waiting` how many a person has to look at."""
    note = review_note({server: waiting})
    return _with_note(_tools_answer(server, found, trouble, TOOLS_TOKENS - _room_for(note)), note)


def review_note(waiting: Mapping[str, int]) -> str:
    """How much of which servers a person has to look at first, in our own words only."""
    named = [f"{count} of {server}" for server, count in waiting.items() if count]
    return f"Changed or new, and waiting for a person's review (`toolcrib approvals`): {_few(named)}." if named else ""


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more servers" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _room_for(note: str) -> int:
    return ceil(_cost(note)) + 1 if note else 0


def _with_note(answer: Answer, note: str) -> Answer:
    return {**answer, "note": f"{answer['note']} {note}" if "note" in answer else note} if note else answer


def _tools_answer(server: str, found: Sequence[ToolSummary], trouble: str, tokens: int) -> Answer:
    page = _packed(found, found, tokens, _tool, _short_tool)
    answer: Answer = {"server": server, "tools": page.entries}
    if trouble:
        return {**answer, "note": trouble}
    if page.is_whole:
        return answer
    if page.named:
        answer["more"] = [tool.name for tool in page.named]
        answer["note"] = "The tools in more have summaries too: search_tools with this server, or get_tool_details."
        return answer
    rest = _how({"server": server, "offset": len(page.entries)})
    return {
        **answer,
        "note": f"{_counted(page, 'tools')} search_tools with this server finds one by what it does. {rest}",
    }


def server_page(found: Sequence[ServerSummary], offset: int) -> Answer:
    """The servers from an offset on, as many as fit one answer."""
    entries = _taken((_short_server(one, SUMMARY_LENGTHS[0]) for one in _broken_first(found)[offset:]), PAGE_TOKENS)
    return {"servers": entries, **_next(offset + len(entries), len(found))}


def tool_page(server: str, found: Sequence[ToolSummary], offset: int) -> Answer:
    """The tools of a server from an offset on, as many as fit one answer."""
    entries = _taken((_short_tool(one, SUMMARY_LENGTHS[0]) for one in found[offset:]), PAGE_TOKENS)
    return {"server": server, "tools": entries, **_next(offset + len(entries), len(found))}


def item_page(noun: str, found: Sequence[ToolSummary], offset: int) -> Answer:
    """Prompts or resources of servers from an offset on, as many as fit one answer."""
    entries = _taken(({"server": one.server, **_short_item(one)} for one in found[offset:]), PAGE_TOKENS)
    return {noun: entries, **_next(offset + len(entries), len(found))}


def _broken_first(found: Sequence[ServerSummary]) -> list[ServerSummary]:
    """A broken server is worth its tokens also where not all are described."""
    return sorted(found, key=lambda server: server.status.state != "error")


def _packed(
    given: Sequence[T],
    ordered: Sequence[T],
    tokens: int,
    full: Callable[[T], Answer],
    short: Callable[[T, int], Answer],
) -> _Page[T]:
    """All of them in full, else all with ever shorter summaries, else as many as fit, with the names of the others."""
    room = tokens - FRAME_TOKENS
    shapes: list[Callable[[T], Answer]] = [full, *(partial(_shortened, short, length) for length in SUMMARY_LENGTHS)]
    for shape in shapes:
        entries = _taken(map(shape, given), room)
        if len(entries) == len(given):
            return _Page(entries, (), len(given))
    entries = _taken((short(item, SUMMARY_LENGTHS[-1]) for item in ordered), room)
    described = _beside_names(entries, [_cost(item.name) for item in ordered], room)
    if described >= LEAST_SUMMARIES:
        return _Page(entries[:described], ordered[described:], len(given))
    return _Page(entries, (), len(given))


def _taken(entries: Iterable[Answer], room: float) -> list[Answer]:
    """As many as fit, from the first on, and at least one; the others are not even looked at."""
    taken: list[Answer] = []
    for entry in entries:
        room -= _cost(entry)
        if taken and room < 0:
            break
        taken.append(entry)
    return taken


def _beside_names(entries: Sequence[Answer], name_costs: Sequence[float], room: float) -> int:
    """How many entries fit beside the names of all the others."""
    entry_sums = list(accumulate(map(_cost, entries), initial=0.0))
    name_sums = list(accumulate(name_costs, initial=0.0))
    fitting = (n for n in range(len(entries), 0, -1) if entry_sums[n] + name_sums[-1] - name_sums[n] <= room)
    return next(fitting, 0)


def _shortened(short: Callable[[T, int], Answer], length: int, item: T) -> Answer:
    return short(item, length)


def _cost(part: Answer | str) -> float:
    # In a list the quotation marks of two names and the comma between them are one token.
    return estimated_tokens(_encode(part).decode()) - isinstance(part, str)


def _next(offset: int, total: int) -> Answer:
    return {"next": offset, "total": total} if offset < total else {}


def _counted(page: _Page[Any], noun: str) -> str:
    return f"{len(page.entries)} of {page.total} {noun} are shown."


def _how(arguments: Answer) -> str:
    given = _encode(arguments).decode()
    return f"For the rest: execute_tool, server {BUILT_IN_SERVER}, tool {LIST_MORE}, arguments {given}."


def _server(server: ServerSummary) -> Answer:
    rendered = server_json(server)
    if server.status.state == "error":
        rendered["reason"] = server.status.reason[:REASON_CHARACTERS]
    return rendered


def _short_server(server: ServerSummary, length: int) -> Answer:
    """Without what is the same for nearly all: that all tools are on, and that a server starts on its first call."""
    if server.status.state == "error":
        return {"name": server.name, "status": "error", "reason": summarize(server.status.reason, length)}
    short: Answer = {"name": server.name}
    if server.description != f"MCP server: {server.name}":
        short["description"] = summarize(server.description, length)
    short["toolCount"] = server.tool_count
    if server.enabled_count != server.tool_count:
        short["enabledCount"] = server.enabled_count
    return short


def _short_item(item: ToolSummary) -> Answer:
    """What it is called says what it is, but for a template."""
    short = _short_tool(item, SUMMARY_LENGTHS[0])
    if item.kind != "template":
        short.pop("kind", None)
    return short


def _tool(tool: ToolSummary) -> Answer:
    rendered = without_empty(tool_json(tool))
    rendered.pop("reason", None)  # models can't do anything about it
    return rendered


def _short_tool(tool: ToolSummary, length: int) -> Answer:
    """Without what is the same for nearly all: that a tool is on."""
    short = _tool(tool)
    if tool.summary:
        short["summary"] = summarize(tool.summary, length)
    if tool.enabled:
        del short["enabled"]
    return short

"""A search, from the question to the hits: the same for every face."""

from __future__ import annotations

from dataclasses import dataclass

from toolcrib.errors import ValidationError
from toolcrib.model.caller import LIBRARY, Caller
from toolcrib.model.view import SearchHit
from toolcrib.queries.filters import ToolFilter, split_query
from toolcrib.queries.summaries import hit_view
from toolcrib.workspace.tool_search import Found
from toolcrib.workspace.workspace import Workspace

DEFAULT_HITS = 10
MOST_HITS = 100


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """What is asked. `domain:…` and `category:…` in the query narrow it like the two options do."""

    query: str
    server: str | None = None
    limit: int | None = None
    include_disabled: bool = False
    domain: str | None = None
    category: str | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """A question that can be answered: the words to look for, and the tools that count."""

    words: str
    passes: ToolFilter
    server: str | None
    limit: int
    include_disabled: bool


def understood(workspace: Workspace, asked: SearchQuestion) -> Search:
    """The question taken apart; raises ValidationError for one that nobody could answer."""
    words, passes = split_query(asked.query, asked.domain, asked.category, workspace.view)
    longest = workspace.settings.max_query_characters
    check_query(asked.query, asked.limit, longest=longest, is_filtered=bool(passes))
    limit = min(asked.limit or DEFAULT_HITS, MOST_HITS)
    return Search(words, passes, asked.server, limit, asked.include_disabled)


def found_tools(workspace: Workspace, search: Search, caller: Caller = LIBRARY) -> list[Found]:
    """The best matches among the tools that pass, best first; without words, all that pass."""
    if not search.words:
        return workspace.search.select(
            search.passes,
            server=search.server,
            limit=search.limit,
            include_disabled=search.include_disabled,
            caller=caller,
        )
    return workspace.search.search(
        search.words,
        server=search.server,
        limit=search.limit,
        include_disabled=search.include_disabled,
        passes=search.passes or None,
        caller=caller,
    )


def hits_of(found: list[Found]) -> list[SearchHit]:
    return [hit_view(visible, relevance) for visible, relevance in found]


def check_query(query: str, limit: int | None, *, longest: int, is_filtered: bool = False) -> None:
    """Refuse a search nobody could answer; without words it needs a filter."""
    if not query.strip() and not is_filtered:
        raise ValidationError("query is empty: say in a few words what the tool should do")
    if len(query) > longest:
        raise ValidationError(f"query is {len(query)} characters long; at most {longest} are read")
    if limit is not None and limit < 1:
        raise ValidationError(f"limit must be 1 or more, not {limit}")

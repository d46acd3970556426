"""`toolcrib search`: tools by what they do."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from toolcrib.catalog.store import ServerRecord
from toolcrib.cli.ages import ago
from toolcrib.cli.exits import NOT_FOUND, OK
from toolcrib.cli.open_catalog import CatalogSession, open_for_reading
from toolcrib.cli.output import Output, did_you_mean
from toolcrib.model.clean_text import clean
from toolcrib.model.view import SearchHit
from toolcrib.queries.budget import fits, likely
from toolcrib.queries.filters import ToolFilter
from toolcrib.queries.json_forms import hit_json
from toolcrib.queries.search import Search, SearchQuestion, found_tools, hits_of, understood
from toolcrib.search.explain import Explanation
from toolcrib.search.suggest import nearest

MOST_LEFT_OUT = 3

Found = tuple[SearchHit, Explanation | None]


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    query = " ".join(options.query)
    with open_for_reading(options, output, server=options.server) as session:
        asked = SearchQuestion(query, options.server, options.limit, options.all, options.domain, options.category)
        search = understood(session.workspace, asked)
        if options.server is not None:
            session.need_server(options.server)
        found = _found(session, search, explain=options.explain)
        _say_what_is_left_out([one for one in session.left_out() if options.server in {None, one.name}], output)
        if not fits([hit for hit, _ in found]):
            _say_nothing_fits(session, query, found, output)
            return NOT_FOUND
    if output.as_json:
        output.json({"results": [hit_json(hit, why) for hit, why in found]})
    else:
        out = output.out
        out.paragraph(
            f'Search results for "{clean(query or _spoken(search.passes))}" ({len(found)} found):', "", "bold"
        )
        _print(found, output)
    return OK


def _say_what_is_left_out(left_out: Sequence[ServerRecord], output: Output) -> None:
    """Whoever misses a tool should know whose tools could not be searched."""
    for record in left_out[:MOST_LEFT_OUT]:
        when = ago(time.time() - (record.error_at or 0.0))
        output.note(f"not searched: {record.name} could not be read {when}: {record.error.partition(chr(10))[0]}")
    if len(left_out) > MOST_LEFT_OUT:
        output.note(f"not searched: {len(left_out) - MOST_LEFT_OUT} more servers (`toolcrib list` shows them)")


def _found(session: CatalogSession, search: Search, *, explain: bool) -> list[Found]:
    if search.words:
        session.make_searchable()
    tools = found_tools(session.workspace, search)
    return [
        (hit, session.workspace.search.explain(search.words, tool) if explain and search.words else None)
        for hit, (tool, _) in zip(likely(hits_of(tools)), tools, strict=False)
    ]


def _names(session: CatalogSession) -> list[str]:
    """What a person may have meant; what nobody agreed to is of no use to them."""
    known = (visible for name in session.view.specs for visible in session.view.tools(name).values())
    tools = [visible.tool for visible in known if visible.availability.is_searchable]
    return [tool.id for tool in tools] + [tool.name for tool in tools]


def _spoken(passes: ToolFilter) -> str:
    parts = (("domain", passes.domain), ("category", passes.category))
    spoken = [f"{name}:{value}" for name, value in parts if value is not None]
    return " ".join([*spoken, *(f"kind:{kind}" for kind in sorted(passes.kinds))])


def _print(found: list[Found], output: Output) -> None:
    out = output.out
    for number, (hit, why) in enumerate(found, start=1):
        indent = " " * (len(str(number)) + 2)
        name = out.paint(clean(f"{hit.server}:{hit.tool}"), "bold")
        out.write()
        out.write(f"{number}. {name} ({round(hit.relevance * 100)}% match){'' if hit.enabled else ' (disabled)'}")
        if hit.summary:
            out.paragraph(clean(hit.summary), indent)
        if hit.tags:
            out.paragraph(f"Tags: {clean(', '.join(hit.tags))}", indent, "dim")
        for line in _reasons(why) if why is not None else ():
            out.paragraph(clean(line), indent, "cyan")


def _reasons(why: Explanation) -> list[str]:
    lines = [f"Understood as: {why.spelled}"] if why.spelled else []
    if why.is_named:
        lines.append("Matched: the tool's name in full")
    if why.closeness is not None:
        lines.append(f"Meaning: {why.closeness:.2f} close (1 is the same)")
    matched = [_matched(match.word, match.fields, is_kin=match.is_kin) for match in why.words if match.fields]
    missed = [match.word for match in why.words if not match.fields]
    if matched:
        lines.append(f"Matched: {'; '.join(matched)}")
    if missed:
        lines.append(f"Not matched: {', '.join(missed)}")
    return lines


def _matched(word: str, fields: tuple[str, ...], *, is_kin: bool) -> str:
    return f"{word} ({'another word for it in ' if is_kin else ''}{', '.join(fields)})"


def _say_nothing_fits(session: CatalogSession, query: str, found: list[Found], output: Output) -> None:
    suggestions = nearest(query, _names(session))
    if output.as_json:
        near = [hit_json(hit, why) for hit, why in found]
        output.json({"results": [], "nearest": near, "didYouMean": suggestions})
        return
    output.out.paragraph(f'No tool fits "{clean(query)}".')
    if suggestions:
        output.out.paragraph(clean(did_you_mean(suggestions)))
    if found:
        output.out.write("Nearest:")
        _print(found, output)

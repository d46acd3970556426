"""Looks over rules with the known tools at hand, for those that do not do what they seem to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from toolcrib.model.items import ITEM_PREFIXES
from toolcrib.rules.pattern import Pattern, PatternUndecided
from toolcrib.rules.rule import CompiledRule

NAMES_SHOWN = 5

ToolName = tuple[str, str]


def review(
    rules: Sequence[CompiledRule], tools: Iterable[ToolName], enabled_by: Callable[[str, str], int | None]
) -> list[str]:
    """One line for each rule that is overruled, idle, meant for a server's name, or too slow to be tried.

    `enabled_by` gives the number of the rule that switches a tool on, or None.
    """
    known = list(dict.fromkeys(tools))
    if not known:
        return []
    return [warning for rule in rules for warning in _warnings(rule, known, enabled_by)]


def _warnings(
    rule: CompiledRule, known: Sequence[ToolName], enabled_by: Callable[[str, str], int | None]
) -> Iterator[str]:
    matched = [name for name in known if rule.matches(*name, is_item=_is_item(name))]
    misdirected = list(_meant_for_servers(rule, known))
    yield from misdirected
    if not matched and not misdirected:
        yield f"{rule} matches no known tool"
    if rule.rule.enabled is False:
        stronger = {name: number for name in matched if (number := enabled_by(*name)) is not None}
        if stronger:
            numbers = ", ".join(map(str, sorted(set(stronger.values()))))
            yield f"{rule} is overruled by rule {numbers} and does not block {_listed(list(stronger))}"
    for pattern in (*rule.positives, *rule.negatives):
        if pattern.is_off:
            yield f"{rule}: {pattern.text} is too slow and is not tried; the rule blocks rather than allows"


def _meant_for_servers(rule: CompiledRule, known: Sequence[ToolName]) -> Iterator[str]:
    """An enabling pattern is tried on tool names; one that fits only a server's name switches that server off."""
    if not rule.rule.enabled:
        return
    in_reach = [name for name in known if rule.covers(name[0])]
    for pattern in rule.positives:
        if any(_fits(pattern, *name) for name in in_reach):
            continue
        servers = sorted({server for server, _ in in_reach if _fits(pattern, "", server)})
        if servers:
            yield (
                f"{rule}: {pattern.text} matches no tool, but the server name {', '.join(servers[:NAMES_SHOWN])}; "
                f"for all tools of that server write {servers[0]}:*"
            )


def _fits(pattern: Pattern, server: str, tool: str) -> bool:
    try:
        return pattern.matches(server, tool, is_item=_is_item((server, tool)))
    except PatternUndecided:
        return False


def _is_item(name: ToolName) -> bool:
    return name[1].startswith(ITEM_PREFIXES)


def _listed(names: Sequence[ToolName]) -> str:
    shown = ", ".join(f"{server}:{tool}" for server, tool in names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown} and {len(names) - NAMES_SHOWN} more"

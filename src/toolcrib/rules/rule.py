"""A rule: patterns that enable, disable or tag the tools they match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolcrib.errors import Problem
from toolcrib.model.server import BUILT_IN_SERVER
from toolcrib.model.tool_rule import ToolRule
from toolcrib.rules.glob import PatternError
from toolcrib.rules.pattern import Pattern, PatternUndecided

_GLOB_CHARACTERS = frozenset("*?[{")
_NOT_A_SERVER = ("!", "/")


class CompiledRule:
    """A rule ready to be asked; `number` counts from 1, as people see it."""

    def __init__(self, number: int, rule: ToolRule, patterns: Sequence[Pattern], server: Pattern | None) -> None:
        self.number = number
        self.rule = rule
        self.positives = tuple(pattern for pattern in patterns if not pattern.negated)
        self.negatives = tuple(pattern for pattern in patterns if pattern.negated)
        self._server_glob = server
        self._for_built_in = tuple(p for p in self.positives if p.text.startswith(f"{BUILT_IN_SERVER}:"))

    def __str__(self) -> str:
        place = f"{self.rule.server}: " if self.rule.server else ""
        return f"rule {self.number} ({place}{', '.join(self.rule.pattern) or '*'})"

    def matches(self, server: str, tool: str, *, is_item: bool = False) -> bool:
        """Whether the rule is about this tool: no negative pattern fits, and a positive one does, if there are any."""
        positives = self.positives
        if server == BUILT_IN_SERVER and self.rule.server != BUILT_IN_SERVER:
            # The gateway's own tools are matched only by a rule that names them.
            positives = self._for_built_in
            if not positives:
                return False
        if not self.covers(server):
            return False
        # A pattern without an answer must block: it counts towards a rule that denies, against one that allows.
        denies = self.rule.enabled is False
        if _any_fits(self.negatives, server, tool, blocks=not denies, is_item=is_item):
            return False
        return not positives or _any_fits(positives, server, tool, blocks=denies, is_item=is_item)

    def covers(self, server: str) -> bool:
        """Whether the rule's `server` field lets this server through."""
        if self.rule.server is None:
            return True
        if self._server_glob is None:
            return self.rule.server == server
        return _fits(self._server_glob, "", server, blocks=self.rule.enabled is False)


def compile_rules(rules: Iterable[ToolRule]) -> tuple[list[CompiledRule], list[Problem]]:
    """Every rule that can be read, and a problem for each pattern that cannot."""
    compiled: list[CompiledRule] = []
    problems: list[Problem] = []
    for index, rule in enumerate(rules):
        where = f"toolRules[{index}]"
        patterns = [_parse(text, f"{where}.pattern[{at}]", problems) for at, text in enumerate(rule.pattern)]
        server = _parse_server(rule.server, f"{where}.server", problems)
        compiled.append(CompiledRule(index + 1, rule, [p for p in patterns if p], server))
    return compiled, problems


def _parse_server(text: str | None, where: str, problems: list[Problem]) -> Pattern | None:
    """The glob in a `server` field, or None where the field is absent or a plain name."""
    if text is not None and (not text or text.startswith(_NOT_A_SERVER) or ":" in text):
        problems.append(Problem(where, f"expected a server's name or a glob, found {text!r}"))
        return None
    if text is None or _GLOB_CHARACTERS.isdisjoint(text):
        return None
    return _parse(text, where, problems)


def _parse(text: str, where: str, problems: list[Problem]) -> Pattern | None:
    try:
        return Pattern.parse(text)
    except PatternError as error:
        problems.append(Problem(where, str(error)))
        return None


def _any_fits(patterns: Iterable[Pattern], server: str, tool: str, *, blocks: bool, is_item: bool) -> bool:
    return any(_fits(pattern, server, tool, blocks=blocks, is_item=is_item) for pattern in patterns)


def _fits(pattern: Pattern, server: str, tool: str, *, blocks: bool, is_item: bool = False) -> bool:
    try:
        return pattern.matches(server, tool, is_item=is_item, blocks=blocks)
    except PatternUndecided:
        return blocks

"""All rules together: which tools are on, and with which tags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from toolcrib.errors import ConfigurationError, Problem
from toolcrib.model.items import ITEM_PREFIXES
from toolcrib.model.server import BUILT_IN_SERVER
from toolcrib.model.tool_rule import ToolRule
from toolcrib.rules.pattern import MAX_NAME_CHARACTERS
from toolcrib.rules.review import review
from toolcrib.rules.rule import CompiledRule, compile_rules

MAX_REMEMBERED = 131_072

Precedence = Literal["deny", "first", "last"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rules say about one tool; `rule` is the number, from 1, of the rule that decided, if one did.

    `confirm` is whether a person confirms each call, where any rule says so.
    """

    enabled: bool
    tags: tuple[str, ...]
    rule: int | None
    reason: str
    confirm: bool | None = None


class RuleBook:
    """Decides from an ordered list of rules; raises ConfigurationError naming every pattern it cannot read."""

    def __init__(self, rules: Iterable[ToolRule] = (), precedence: Precedence = "deny") -> None:
        given = tuple(rules)
        self._rules, problems = compile_rules(given)
        if precedence not in get_args(Precedence):
            expected = ", ".join(get_args(Precedence))
            problems.append(Problem("rulePrecedence", f"expected one of {expected}, found {precedence!r}"))
        if problems:
            raise ConfigurationError(problems)
        self._precedence = precedence
        self._told = (given, precedence)
        self._hash = hash(self._told)
        self._is_whitelist = any(compiled.rule.enabled for compiled in self._rules)
        # Equal for rule books that give every tool the same tags.
        self.tagging = repr([(c.rule.pattern, c.rule.server, c.rule.tags) for c in self._rules if c.rule.tags])
        self._remembered: dict[tuple[str, str, bool], Decision] = {}

    # Two that were told the same decide the same; what callers with such rules see is worked out once.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleBook) and self._told == other._told

    def __hash__(self) -> int:
        return self._hash

    def decide(self, server: str, tool: str, own_tags: Sequence[str] = (), *, is_item: bool = False) -> Decision:
        """Whether the tool is on, and its tags: its own first, then those of every matching rule.

        What `is_item` is a prompt or a resource, whose name says so.
        """
        asked = (server, tool, is_item)
        decision = self._remembered.get(asked)
        if decision is None:
            decision = self._work_out(*asked)
            if len(tool) <= MAX_NAME_CHARACTERS:  # addresses have no end, and what no pattern reads is soon decided
                self._remember(asked, decision)
        if not own_tags:
            return decision
        tags = tuple(dict.fromkeys((*own_tags, *decision.tags)))
        return replace(decision, tags=tags)

    def check(self, tools: Iterable[tuple[str, str]]) -> list[str]:
        """Warnings about rules that do not do what they seem to, given the (server, tool) pairs that are known."""
        return review(self._rules, tools, self._enabled_by)

    def _enabled_by(self, server: str, tool: str) -> int | None:
        decision = self.decide(server, tool, is_item=tool.startswith(ITEM_PREFIXES))
        return decision.rule if decision.enabled else None

    def _work_out(self, server: str, tool: str, is_item: bool) -> Decision:
        matching = [compiled for compiled in self._rules if compiled.matches(server, tool, is_item=is_item)]
        tags = tuple(dict.fromkeys(tag for compiled in matching for tag in compiled.rule.tags))
        # One that asks counts more than one that does not.
        stated = [compiled.rule.confirm for compiled in matching if compiled.rule.confirm is not None]
        confirm = any(stated) if stated else None
        deciding = self._deciding(matching)
        if deciding is not None:
            enabled = bool(deciding.rule.enabled)
            reason = f"{'enabled' if enabled else 'disabled'} by {deciding}"
            return Decision(enabled, tags, deciding.number, reason, confirm)
        if self._is_whitelist and server != BUILT_IN_SERVER:
            return Decision(
                False, tags, None, "no rule enables it, and some rule sets `enabled: true`, so all other tools are off"
            )
        return Decision(True, tags, None, "no rule disables it", confirm)

    def _deciding(self, matching: Sequence[CompiledRule]) -> CompiledRule | None:
        candidates = [compiled for compiled in matching if compiled.rule.enabled is not None]
        if self._precedence == "last":
            candidates.reverse()
        elif self._precedence == "deny":
            candidates.sort(key=lambda compiled: bool(compiled.rule.enabled))
        return candidates[0] if candidates else None

    def _remember(self, asked: tuple[str, str, bool], decision: Decision) -> None:
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered.pop(next(iter(self._remembered)))
        self._remembered[asked] = decision

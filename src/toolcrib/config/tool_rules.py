"""The `toolRules` section. A rule that cannot be read refuses the whole file: a dropped rule would open tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.config.diagnostics import Findings
from toolcrib.config.values import Reader, join, kind_of, unknown_keys
from toolcrib.model.tool_rule import ToolRule

RULE_KEYS: Mapping[str, str] = {
    "pattern": "Tool names the rule is about: globs, `/regular expressions/`, or either after `!` for an exception.",
    "server": "Only tools of this server (a name or a glob).",
    "enabled": "`false` switches the tools off, `true` on; any rule with `true` switches every tool not named off.",
    "tags": "Tags the tools get.",
    "confirm": "`true`: a person confirms each call of these tools; `false`: nobody is asked, whatever `confirm` says.",
}


def read_tool_rules(value: Any, where: str, source: str, findings: Findings) -> tuple[ToolRule, ...]:
    """Every rule, or the reasons why the file is refused."""
    if value is None:
        return ()
    if not isinstance(value, list):
        findings.refuse(where, f"expected a list of rules, found {kind_of(value)}", source)
        return ()
    rules = (_read_rule(item, join(where, index), source, findings) for index, item in enumerate(value))
    return tuple(rule for rule in rules if rule is not None)


def _read_rule(value: Any, where: str, source: str, findings: Findings) -> ToolRule | None:
    if not isinstance(value, Mapping):
        findings.refuse(where, f"expected a rule with a pattern, found {kind_of(value)}", source)
        return None
    reader = Reader(value, where, source)
    rule = ToolRule(
        pattern=_patterns(reader),
        server=_server(reader),
        enabled=reader.flag("enabled"),
        tags=_texts_or_one(reader, "tags"),
        confirm=reader.flag("confirm"),
    )
    # A mistyped `enabled` would turn a refusal into a mere tag, so unknown keys are not just warned about.
    for key, message in unknown_keys(value, RULE_KEYS):
        reader.fail(key, message)
    findings.fatal.extend(reader.problems)
    return None if reader.problems else rule


def _patterns(reader: Reader) -> tuple[str, ...]:
    if not reader.data.get("pattern"):
        reader.expected("pattern", "at least one pattern", reader.data.get("pattern"))
        return ()
    patterns = _texts_or_one(reader, "pattern")
    for index, pattern in enumerate(patterns):
        if not pattern.removeprefix("!").strip():
            reader.fail(join("pattern", index), "expected a pattern, found an empty text")
    return patterns


def _server(reader: Reader) -> str | None:
    server = reader.text("server")
    if server is not None and not server.strip():
        reader.fail("server", "expected the name of a server, found an empty text")
    return server


def _texts_or_one(reader: Reader, key: str) -> tuple[str, ...]:
    value = reader.data.get(key)
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        reader.fail(key, "expected a list of texts, found other things in it")
        return ()
    return reader.texts(key) or ()

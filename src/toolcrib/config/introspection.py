"""The `introspection` section: arguments for the trial calls that show what a tool returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.config.diagnostics import Findings
from toolcrib.config.values import join, kind_of, unknown_keys

INTROSPECTION_KEYS: Mapping[str, str] = {
    "tools": "Arguments by tool: its name, or `server:tool`, each with a map of parameters to values.",
}


def read_introspection(value: Any, where: str, source: str, findings: Findings) -> dict[str, dict[str, Any]]:
    """Arguments by tool; an entry that does not fit is left out and reported."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        findings.skip(where, f"expected a map with tools, found {kind_of(value)}", source)
        return {}
    findings.warn_of_keys(unknown_keys(value, INTROSPECTION_KEYS), where, source)
    tools = value.get("tools")
    if tools is None or isinstance(tools, Mapping):
        return _by_tool(tools or {}, join(where, "tools"), source, findings)
    findings.skip(join(where, "tools"), f"expected a map of tools, found {kind_of(tools)}", source)
    return {}


def _by_tool(tools: Mapping[str, Any], where: str, source: str, findings: Findings) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, arguments in tools.items():
        if isinstance(arguments, Mapping):
            found[name] = dict(arguments)
        else:
            findings.skip(join(where, name), f"expected a map of arguments, found {kind_of(arguments)}", source)
    return found

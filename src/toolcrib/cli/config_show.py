"""What `toolcrib config show` and `config sources` show of the configuration in force."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolcrib.cli.open_catalog import CatalogSession
from toolcrib.cli.table import print_table
from toolcrib.cli.terminal import Terminal, home_as_tilde
from toolcrib.cli.wording import counted
from toolcrib.config.profiles import Profile
from toolcrib.config.settings import Settings, SourceState
from toolcrib.model.tool_rule import ToolRule

# So many files that are not there are each worth a line; of more only the number is shown.
FEW_MISSING = 3

_STATES = {
    "found": "found",
    "missing": "not found",
    "broken": "can't be read",
    "untrusted": "not trusted yet",
}
# A file that is not there is no fault: most people have few of the clients.
_SIGNS = {"found": ("✓", "green"), "missing": ("·", "dim"), "broken": ("✗", "red"), "untrusted": ("!", "yellow")}


class Facts:
    """What `config show` tells."""

    def __init__(self, session: CatalogSession) -> None:
        view = session.view
        self.settings = session.settings
        self.servers = len(view.specs)
        self.connected = sum(bool(session.holders(name)) for name in view.specs)
        shelves = [view.tools(name) for name in view.specs]
        self.tools = sum(map(len, shelves))
        self.enabled = sum(tool.enabled for shelf in shelves for tool in shelf.values())

    def print(self, out: Terminal) -> None:
        settings = self.settings
        out.write(out.paint("MCP Discovery Configuration:", "bold"))
        out.write()
        out.item("File: ", shown_path(settings.file) if settings.file else "none (built-in defaults)")
        out.write(f"Status: {_on(settings.enabled)}")
        out.write(f"Cache: {_on(settings.cache_enabled)} (TTL: {settings.cache_ttl_seconds:g}s)")
        out.write()
        _print_sources(out, settings.source_states)
        out.write()
        out.write(out.paint(f"Tool Rules ({len(settings.tool_rules)}):", "bold"))
        for number, rule in enumerate(settings.tool_rules, start=1):
            out.item(f"  {number}. ", _rule_text(rule))
        if not settings.tool_rules:
            out.write("  none: every tool is enabled")
        out.write()
        if settings.profiles:
            _print_profiles(out, settings)
        out.write(f"Servers: {self.servers} configured, {self.connected} connected")
        out.write(f"Tools: {self.tools} total, {self.enabled} enabled")

    def as_json(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "file": str(settings.file) if settings.file else None,
            "enabled": settings.enabled,
            "cache": {"enabled": settings.cache_enabled, "ttl": settings.cache_ttl_seconds},
            "sources": [source_json(source) for source in settings.source_states],
            "rulePrecedence": settings.rule_precedence,
            "toolRules": [_rule_json(rule) for rule in settings.tool_rules],
            "profile": settings.profile,
            "profiles": {name: _profile_json(profile) for name, profile in settings.profiles.items()},
            "servers": {"configured": self.servers, "connected": self.connected},
            "tools": {"total": self.tools, "enabled": self.enabled},
        }


def print_source_table(out: Terminal, states: Sequence[SourceState]) -> None:
    """Every source; those with a file come first, each in the order in which they are read."""
    ordered = sorted(states, key=_is_missing)
    rows = [
        (f"{_SIGNS[one.state][0]} {one.type}", _STATES[one.state], str(one.count), home_as_tilde(one.path))
        for one in ordered
    ]
    print_table(out, ("SOURCE", "STATE", "SERVERS", "FILE"), rows, [_SIGNS[one.state][1] for one in ordered])


def source_json(source: SourceState) -> dict[str, Any]:
    return {"type": source.type, "path": source.path, "state": source.state, "servers": source.count}


def shown_path(path: Path | str) -> str:
    return home_as_tilde(str(path))


def _print_sources(out: Terminal, states: Sequence[SourceState]) -> None:
    out.write(out.paint(f"Sources ({len(states)}):", "bold"))
    missing = sum(map(_is_missing, states))
    for source in states:
        if not _is_missing(source) or missing <= FEW_MISSING:
            sign, style = _SIGNS[source.state]
            reason = "" if source.state == "found" else f" - {_STATES[source.state]}"
            out.item(f"  {sign} ", f"{source.type} ({shown_path(source.path)}){reason}", style)
    if missing > FEW_MISSING:
        more = f"{counted(missing, 'file')} of other clients were not found (`toolcrib config sources` lists them)"
        out.item("  · ", more, "dim")


def _is_missing(source: SourceState) -> bool:
    return source.state == "missing"


def _on(value: bool) -> str:
    return "Enabled" if value else "Disabled"


def _rule_text(rule: ToolRule) -> str:
    about = ", ".join(rule.pattern) or "*"
    place = f"{rule.server}: " if rule.server else ""
    effects = [] if rule.enabled is None else ["enabled" if rule.enabled else "disabled"]
    if rule.tags:
        effects.append(f"tags: [{', '.join(rule.tags)}]")
    return f"{place}{about} → {', '.join(effects) or 'no effect'}"


def _print_profiles(out: Terminal, settings: Settings) -> None:
    out.write(out.paint(f"Profiles ({len(settings.profiles)}):", "bold"))
    for name, profile in settings.profiles.items():
        holds = " (holds for every client here)" if name == settings.profile else ""
        out.item("  ", f"{name}{holds}: {_profile_text(profile)}")
    out.write()


def _profile_text(profile: Profile) -> str:
    limits = [
        f"servers {', '.join(profile.servers) or 'none'}" if profile.servers is not None else "",
        f"tools tagged {', '.join(profile.tags) or 'with nothing'}" if profile.tags is not None else "",
        counted(len(profile.tool_rules), "rule") if profile.tool_rules else "",
        "only reading" if profile.read_only else "",
        f"asks before {'all that changes something' if profile.confirm == 'writes' else 'what destroys something'}"
        if profile.confirm != "never"
        else "",
    ]
    return "; ".join(limit for limit in limits if limit) or "everything"


def _profile_json(profile: Profile) -> dict[str, Any]:
    return {
        "servers": None if profile.servers is None else list(profile.servers),
        "tags": None if profile.tags is None else list(profile.tags),
        "toolRules": [_rule_json(rule) for rule in profile.tool_rules],
        "readOnly": profile.read_only,
        "confirm": profile.confirm,
    }


def _rule_json(rule: ToolRule) -> dict[str, Any]:
    rendered: dict[str, Any] = {"pattern": list(rule.pattern), "tags": list(rule.tags)}
    if rule.server is not None:
        rendered["server"] = rule.server
    if rule.enabled is not None:
        rendered["enabled"] = rule.enabled
    return rendered

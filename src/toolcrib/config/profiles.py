"""The `profiles` section: named sets of servers, tags and rules. One that can't be read refuses the whole file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.config.diagnostics import Findings
from toolcrib.config.names import did_you_mean
from toolcrib.config.tool_rules import read_tool_rules
from toolcrib.config.values import Reader, join, kind_of, unknown_keys
from toolcrib.model.effect import CONFIRMS, Confirm
from toolcrib.model.tool_rule import ToolRule

PROFILE_KEYS: Mapping[str, str] = {
    "servers": "Only these servers (names or globs).",
    "tags": "Only tools with at least one of these tags.",
    "toolRules": "Rules that hold besides those for everybody; they are written the same way.",
    "readOnly": "`true` leaves only tools that change nothing.",
    "confirm": "Which calls a person confirms first, where that is more than `confirm` says: `destructive` or `writes`.",
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What a client with this profile may use, of what the configuration lets anybody use; None is all."""

    name: str
    servers: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    tool_rules: tuple[ToolRule, ...] = ()
    read_only: bool = False
    confirm: Confirm = "never"


def read_profiles(value: Any, where: str, source: str, findings: Findings) -> dict[str, Profile]:
    """Every profile by its name, or the reasons why the file is refused: a dropped limit would open tools."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        findings.refuse(where, f"expected a map of profiles, found {kind_of(value)}", source)
        return {}
    read = {str(name): _read_profile(str(name), item, where, source, findings) for name, item in value.items()}
    return {name: profile for name, profile in read.items() if profile is not None}


def no_such_profile(name: str, known: Mapping[str, Profile]) -> str:
    """What is wrong with a name that no profile has."""
    listed = f"there are {', '.join(sorted(known))}" if known else "`profiles` names none"
    return f"there is no profile {name!r}{did_you_mean(name, known) or f'; {listed}'}"


def _read_profile(name: str, value: Any, section: str, source: str, findings: Findings) -> Profile | None:
    where = join(section, name)
    if not isinstance(value, Mapping):
        findings.refuse(where, f"expected a map of what the profile allows, found {kind_of(value)}", source)
        return None
    reader = Reader(value, where, source)
    if not name.strip():
        reader.fail("", "expected a name for the profile, found an empty text")
    profile = Profile(
        name,
        servers=reader.texts("servers"),
        tags=reader.texts("tags"),
        tool_rules=read_tool_rules(value.get("toolRules"), join(where, "toolRules"), source, findings),
        read_only=reader.flag("readOnly") or False,
        confirm=_confirm(reader),
    )
    # A mistyped `readOnly` would leave everything open, so an unknown key is no mere warning.
    for key, message in unknown_keys(value, PROFILE_KEYS):
        reader.fail(key, message)
    for index, rule in enumerate(profile.tool_rules):
        if rule.confirm is not None:
            reader.fail(
                f"toolRules[{index}].confirm", "a profile has one `confirm` for all its tools, not one in a rule"
            )
    findings.fatal.extend(reader.problems)
    return None if reader.problems else profile


def _confirm(reader: Reader) -> Confirm:
    word = reader.text("confirm") or CONFIRMS[0]
    found = next((one for one in CONFIRMS if one == word), None)
    if found is None:
        reader.fail("confirm", f"expected one of {', '.join(CONFIRMS)}, found {word!r}")
    return found or CONFIRMS[0]

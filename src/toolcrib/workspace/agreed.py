"""Whether something that a server offers is what somebody agreed to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolcrib.model.availability import ENABLED, Availability
from toolcrib.model.finding import Finding
from toolcrib.model.items import name_on_server
from toolcrib.model.pin import SERVER_WORDS, Pin, Pins
from toolcrib.model.reading import Identity
from toolcrib.model.tool import Tool
from toolcrib.trust.canonical import canonical, fingerprint_of, server_words

CHANGED = Availability("changed", "its definition has changed, and waits for a person's review")
PENDING = Availability("pending", "it is new, and waits for a person's review")

_REJECTED = "a person rejected it as it is now"


def by_review(tool: Tool, reviewed: Mapping[str, str], findings: Sequence[Finding]) -> Availability:
    """By the fingerprints that a person reviewed, by name."""
    if reviewed.get(tool.name) == tool.fingerprint:
        return ENABLED
    return _hostile(findings) or (CHANGED if tool.name in reviewed else PENDING)


def by_pins(tool: Tool, pins: Pins | None, findings: Sequence[Finding]) -> Availability:
    """By what was agreed to of its server; without `pins` nobody was asked yet."""
    if pins is None:
        return ENABLED
    key = (tool.kind, name_on_server(tool.kind, tool.name))
    pin = pins.agreed(key, tool.fingerprint)
    if pin is not None:
        return ENABLED if not findings or pin.is_by_person else _hostile(findings) or ENABLED
    availability = _hostile(findings) or _not_agreed(tool, pins.pins.get(key), pins)
    is_rejected = tool.fingerprint in pins.refused
    return replace(availability, reason=_REJECTED, rejected=True) if is_rejected else availability


def _not_agreed(tool: Tool, pin: Pin | None, pins: Pins) -> Availability:
    # A resource that is not listed can be read by its address; those that are listed have pins.
    if pin is None and tool.kind == "resource" and tool.fingerprint not in pins.refused:
        return ENABLED
    return PENDING if pin is None else CHANGED


def _hostile(findings: Sequence[Finding]) -> Availability | None:
    rules = dict.fromkeys(finding.rule for finding in findings if finding.is_hard)
    return Availability("quarantined", f"its definition looks hostile ({', '.join(rules)})") if rules else None


def with_agreed_words(identity: Identity, pins: Pins | None) -> Identity:
    """How a server introduced itself, with the words about itself that somebody agreed to and no others."""
    if pins is None or "server" not in pins.kinds:
        return identity
    told_now = fingerprint_of(canonical(server_words(identity)))
    pin = pins.agreed(("server", ""), told_now) or pins.pins.get(("server", ""))
    words = {} if pin is None else json.loads(pin.definition)
    others = {key: value for key, value in identity.server_info.items() if key not in SERVER_WORDS}
    told = {key: value for key, value in words.items() if key in SERVER_WORDS}
    return replace(identity, server_info={**others, **told}, instructions=words.get("instructions", ""))

"""What single settings of peers may hold, beyond being text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from toolcrib.config.diagnostics import Findings
from toolcrib.config.settings import SCALARS
from toolcrib.errors import Problem
from toolcrib.model.peer_address import (
    check_multiaddress,
    is_multiaddress,
    scanned_addresses,
    written_address,
    written_peer,
)

MOST_SCANNED = 16
MOST_TAG_CHARACTERS = 15
# What may be the name of a service on the network (RFC 6335).
_TAG = re.compile(r"(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*")


def check_peer_settings(values: Mapping[str, Any], source: str, findings: Findings) -> None:
    """Refuse addresses that nobody could reach, and a name of which nothing is left."""
    checks: Mapping[str, Callable[[str], object]] = {
        "peers_static": written_peer,
        "peers_bootstrap": lambda text: check_multiaddress(text) if is_multiaddress(text) else written_address(text),
        "peers_scan": scanned_addresses,
        "peers_name": _check_name,
        "peers_tag": _check_tag,
    }
    for scalar in SCALARS:
        given = values.get(scalar.name)
        if scalar.name not in checks or not given:
            continue
        for text in (given,) if isinstance(given, str) else given:
            try:
                checks[scalar.name](text)
            except ValueError as problem:
                findings.refuse(scalar.key, f"{problem}, found '{text[:60]}'", source)
    if values.get("peers_dht") and not values.get("peers_rendezvous", "praxis-agents").strip():
        findings.refuse("peers.rendezvous", "expected a word under which peers meet, as peers.dht is on", source)
    if len(values.get("peers_scan", ())) > MOST_SCANNED:
        findings.refuse("peers.scan", f"expected at most {MOST_SCANNED} addresses", source)
    if values.get("peers_scan") and not values.get("peers_enabled"):
        findings.warn(str(Problem("peers.scan", "is not used without `peers.enabled`", source)))
    if values.get("peers_enabled") and values.get("peers_advertise") and not values.get("peers_expose"):
        message = "peers can find this machine, but no tool is offered to them before `peers.expose` names it"
        findings.warn(str(Problem("peers.advertise", message, source)))


def _check_tag(tag: str) -> None:
    if len(tag) > MOST_TAG_CHARACTERS or not _TAG.fullmatch(tag):
        raise ValueError(f"expected at most {MOST_TAG_CHARACTERS} small letters, digits and single hyphens")


def _check_name(name: str) -> None:
    if not any(character.isalnum() for character in name):
        raise ValueError("expected a name with a letter or a digit in it")

"""What single settings of peers may hold, beyond being text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolcrib.config.diagnostics import Findings
from toolcrib.config.settings import SCALARS
from toolcrib.errors import Problem
from toolcrib.model.peer_address import is_multiaddress, scanned_addresses, written_address, written_peer

MOST_SCANNED = 16


def check_peer_settings(values: Mapping[str, Any], source: str, findings: Findings) -> None:
    """Refuse addresses that nobody could reach, and a name of which nothing is left."""
    checks: Mapping[str, Callable[[str], object]] = {
        "peers_static": written_peer,
        "peers_bootstrap": lambda text: is_multiaddress(text) or written_address(text),
        "peers_scan": scanned_addresses,
        "peers_name": _check_name,
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
    if len(values.get("peers_scan", ())) > MOST_SCANNED:
        findings.refuse("peers.scan", f"expected at most {MOST_SCANNED} addresses", source)
    if values.get("peers_scan") and not values.get("peers_enabled"):
        findings.warn(str(Problem("peers.scan", "is not used without `peers.enabled`", source)))
    if values.get("peers_enabled") and values.get("peers_advertise") and not values.get("peers_expose"):
        message = "peers can find this machine, but no tool is offered to them before `peers.expose` names it"
        findings.warn(str(Problem("peers.advertise", message, source)))


def _check_name(name: str) -> None:
    if not any(character.isalnum() for character in name):
        raise ValueError("expected a name with a letter or a digit in it")

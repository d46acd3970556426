"""The sections `p2p` and `agent` of a Praxis file as settings of peers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolcrib.clients.sections import map_of
from toolcrib.config.diagnostics import Findings
from toolcrib.config.read_settings import check_scalar
from toolcrib.config.settings import SCALARS_BY_KEY
from toolcrib.errors import Problem

# Where each word of theirs goes.
_KEYS = {
    ("p2p", "port"): "peers.libp2pPort",
    ("p2p", "rendezvous"): "peers.rendezvous",
    ("p2p", "enable_mdns"): "peers.mdns",
    ("p2p", "enable_dht"): "peers.dht",
    ("p2p", "bootstrap_nodes"): "peers.bootstrap",
    ("agent", "name"): "peers.name",
}
_WITHOUT_COUNTERPART = {
    ("p2p", "advertise_addrs"): "is not used: the addresses of `peers.interfaces` are announced",
    ("agent", "version"): "is not used: a card has the version of Toolcrib",
    ("agent", "description"): "is not used: a card has no description",
    ("agent", "url"): "is not used: peers reach this machine at its addresses and `peers.port`",
    ("agent", "shared_dir"): "is not used: expose a file server with `peers.expose` instead",
    ("agent", "tools"): "is not used: `peers.expose` says which tools peers may use",
}


def praxis_peers(document: Mapping[str, Any], file: str, findings: Findings) -> dict[str, Any]:
    """The settings that the file gives, by attribute name; what has no counterpart is said."""
    p2p = document.get("p2p")
    if not isinstance(p2p, Mapping) or p2p.get("enabled") is False:
        return {}
    if p2p.get("enabled") is not True:
        findings.warn(str(Problem("p2p", "is not used without `enabled: true`", file)))
        return {}
    findings.warn(*(str(Problem(where, message, file)) for where, message in _remarks(document)))
    values: dict[str, Any] = {"peers_enabled": True, "peers_advertise": True}
    for place, key in _KEYS.items():
        _take(values, place, key, document, file, findings)
    return values


def _take(
    values: dict[str, Any], place: tuple[str, str], key: str, document: Mapping[str, Any], file: str, findings: Findings
) -> None:
    given, scalar = _given(document, place), SCALARS_BY_KEY[key]
    if given is None:
        return
    try:
        if given == "":
            raise ValueError("expected text, found nothing")
        values[scalar.name] = check_scalar(scalar, given)
    except ValueError as problem:
        findings.refuse(".".join(place), str(problem), file)


def _remarks(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if _given(document, ("p2p", "secure")) is False:
        yield "p2p.secure", "is not used: connections to peers are always encrypted"
    for place, message in _WITHOUT_COUNTERPART.items():
        if _given(document, place):
            yield ".".join(place), message


def _given(document: Mapping[str, Any], place: tuple[str, str]) -> Any:
    return map_of(document.get(place[0])).get(place[1])

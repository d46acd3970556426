"""The addresses of this machine on the networks where peers are looked for."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence

import ifaddr


def interface_addresses(chosen: Sequence[str]) -> list[str]:
    """Addresses with their networks, such as `10.0.0.5/24`: of the chosen interfaces, or of all but loopback."""
    return [
        f"{text}/{prefix}"
        for names, text, prefix in _all_addresses()
        if (not names.isdisjoint(chosen) if chosen else not _is_loopback(text))
    ]


def hosts_of(addresses: Iterable[str]) -> list[str]:
    """The addresses alone, those that others can be told of first: IPv4, then the rest."""
    hosts = [address.partition("/")[0] for address in addresses]
    return sorted(hosts, key=lambda host: ":" in host)


def _all_addresses() -> list[tuple[frozenset[str], str, int]]:
    """The names by which a person may choose each address, the address (with its scope), and the length of its network."""
    found = []
    for adapter in ifaddr.get_adapters():
        for one in adapter.ips:
            address = one.ip if isinstance(one.ip, str) else one.ip[0]
            is_scoped = ":" in address and ipaddress.ip_address(address).is_link_local
            text = f"{address}%{adapter.nice_name}" if is_scoped else address
            names = frozenset({adapter.name, adapter.nice_name, one.nice_name, address, text})
            found.append((names, text, one.network_prefix))
    return found


def _is_loopback(text: str) -> bool:
    return ipaddress.ip_address(text.partition("%")[0]).is_loopback

"""Whether a host is one of the open network."""

from __future__ import annotations

import ipaddress

# Names that every network has of its own.
_OWN_NAMES = ("localhost", "local", "internal", "intranet", "corp", "lan", "home", "home.arpa")
# Addresses that carry one of IPv4 inside, in whatever way, and what Python takes for open and is not.
_NOT_PUBLIC = tuple(
    map(
        ipaddress.ip_network,
        (
            "64:ff9b::/32",  # translated IPv4
            "::/96",  # IPv4-compatible, out of use
            "::ffff:0:0:0/96",  # translated by the host itself
            "3fff::/20",  # for documentation
            "5f00::/16",  # segment routing within a network
            "192.0.0.0/24",  # protocols of a network
            "168.63.129.16/32",  # the host of a virtual machine in Azure
        ),
    )
)


def is_public_host(host: str) -> bool:
    """Whether a name or an address can be reached by anyone; a name is not looked up."""
    name = host.rstrip(".").lower()
    if any(name == own or name.endswith(f".{own}") for own in _OWN_NAMES):
        return False
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        # A bare name is one of our own network; a number written oddly (0x7f.1) is an address after all.
        return "." in name and not name.rpartition(".")[2][:1].isdigit()
    return is_public_address(name)


def is_loopback_host(host: str) -> bool:
    """Whether a name or an address leads to this machine; a name is not looked up."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_public_address(address: str) -> bool:
    """Whether an IP address can be reached by anyone; what it wraps inside counts too."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is not None or ip.is_site_local:
            return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _NOT_PUBLIC)

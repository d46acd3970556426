"""Whether a host is one of the open network."""

from __future__ import annotations

import ipaddress

# Names that every network has of its own.
_OWN_NAMES = ("localhost", "local", "internal", "intranet", "corp", "lan", "home", "home.arpa")
# Translated IPv4: an address that carries another one inside.
_NAT64 = ipaddress.ip_network("64:ff9b::/32")


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
        if inner is not None or ip in _NAT64 or ip.is_site_local:
            return False
    return ip.is_global and not ip.is_multicast

"""Whether an address is one of the open network."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

_LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".lan", ".home", ".intranet", ".corp")
# Some resolvers read 127.1 and 0x7f.1 as addresses of this machine.
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)


def is_public(url: str) -> bool:
    """True for https to a named host, or to an address that everyone can reach; a name is not looked up."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".").lower()
    if parts.scheme != "https":
        return False
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        *_, last = host.split(".")
        return "." in host and not host.endswith(_LOCAL_ENDINGS) and not _NUMBER.fullmatch(last)

"""Names of cache entries: safe as file names, whatever a server or a query is called."""

from __future__ import annotations

import hashlib
import re

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_MOST_CHARACTERS = 100


def tools_key(server: str) -> str:
    return f"tools_{sanitised(server)}"


def registry_key(query: str) -> str:
    return f"registry_{sanitised(query)}"


def sanitised(name: str) -> str:
    """Letters, digits, `-` and `_` stay, all else becomes `_`; an empty or long name ends in a hash of the whole.

    Two names may come out the same, so an entry has to say whose it is.
    """
    safe = _UNSAFE.sub("_", name[: _MOST_CHARACTERS + 1])
    if 0 < len(safe) <= _MOST_CHARACTERS:
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{safe[:_MOST_CHARACTERS]}_{digest}".lstrip("_")

"""Names and addresses that servers give, as callers meet them: nothing in one hides, steers, or passes for another."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

from toolcrib.model.clean_text import REPLACEMENT, clean

# Longer names are nobody's to type or read; the protocol recommends no more either.
MOST_NAME_CHARACTERS = 128
_KEPT_CHARACTERS = 100


def clean_name(name: str) -> str:
    """The name as it is where all of it shows; otherwise what shows of it, and a mark that tells it from others."""
    shown = clean(name)
    if shown == name.strip() == name and len(name) <= MOST_NAME_CHARACTERS and shown.replace(REPLACEMENT, ""):
        return name
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{shown.replace(REPLACEMENT, '').strip()[:_KEPT_CHARACTERS]}-{mark}"


def clean_address(uri: str) -> str:
    """The address with everything that could hide or steer percent-encoded, as in any address."""
    shown = clean(uri)
    if shown == uri:
        return uri
    return "".join(one if clean(one) == one and not one.isspace() else _encoded(one) for one in uri)


def _encoded(character: str) -> str:
    return quote(character, safe="", errors="surrogatepass")

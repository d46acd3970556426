"""Definitions as they are pinned and compared: canonical JSON, whose hash does not depend on the order of keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.model.items import own_name
from toolcrib.model.pin import SERVER_WORDS, Pin, PinKey, PinnedKind
from toolcrib.model.reading import Identity, ServerReading


@dataclass(frozen=True, slots=True)
class Offered:
    """One thing that a server offers, as it would be pinned."""

    kind: PinnedKind
    name: str
    definition: Mapping[str, Any]
    text: str
    fingerprint: str

    @property
    def key(self) -> PinKey:
        return self.kind, self.name


def canonical(definition: Mapping[str, Any]) -> str:
    """The definition as JSON with sorted keys, in characters that any store can hold."""
    return _storable(json.dumps(definition, sort_keys=True, ensure_ascii=False, separators=(",", ":")))


def fingerprint_of(text: str) -> str:
    """The same hash of a canonical text that a tool in the catalog has of its definition."""
    return hashlib.sha256(text.encode()).hexdigest()


def mends(pin: Pin, fingerprints: Collection[str]) -> bool:
    """Whether a pin was taken over as a cosmetic change of one of these definitions."""
    return pin.is_cosmetic and fingerprint_of(pin.definition) in fingerprints


def everything_offered(reading: ServerReading) -> dict[PinKey, Offered]:
    """What a reading brought, in the server's order; of two with one name the first stays, as in the catalog."""
    found: dict[PinKey, Offered] = {}
    for one in _offered(reading):
        found.setdefault(one.key, one)
    return found


def server_words(identity: Identity) -> dict[str, Any]:
    """What a server says of itself, and agents or people may read."""
    told = {key: identity.server_info.get(key) for key in SERVER_WORDS}
    words = {**told, "instructions": identity.instructions}
    return {key: value for key, value in words.items() if isinstance(value, str) and value}


def offered(kind: PinnedKind, name: str, definition: Mapping[str, Any]) -> Offered:
    text = canonical(definition)
    return Offered(kind, _storable(name), definition, text, fingerprint_of(text))


def _offered(reading: ServerReading) -> Iterator[Offered]:
    yield offered("server", "", server_words(reading.identity))
    for definition in reading.tools:
        if "name" in definition:
            yield offered("tool", str(definition["name"]), definition)
    for kind, definition in reading.items:
        if name := own_name(kind, definition):
            yield offered(kind, name, definition)


def _storable(text: str) -> str:
    """The text with each half of a surrogate pair replaced, as the catalog does it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text

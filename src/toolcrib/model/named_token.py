"""A token that a person made for one program, with what that program may do."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from toolcrib.model.caller import Rights

PREFIX = "tc_"
_ID_BYTES, _SECRET_BYTES = 5, 32
_TEXT = re.compile(r"tc_([0-9a-f]{10})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class NamedToken:
    """What is kept of a token: its hash, never the token. None is all servers, all tags, and no end."""

    id: str
    name: str
    sha256: str
    created_at: float
    expires_at: float | None = None
    servers: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    read_only: bool = False
    profile: str = ""

    @property
    def rights(self) -> Rights:
        """What the token itself allows; its profile may allow less."""
        return Rights(self.servers, self.tags, self.read_only, label=f"token {self.name}")

    def is_over(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    def fits(self, text: str) -> bool:
        """Whether this is the text of the token."""
        # A plain hash is enough: nobody can try 256 random bits.
        return hmac.compare_digest(_hash(text), self.sha256)


def new_text() -> tuple[str, str, str]:
    """A new token: its id, its text, and the hash of that."""
    id = secrets.token_hex(_ID_BYTES)
    text = f"{PREFIX}{id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    return id, text, _hash(text)


def id_in(text: str) -> str:
    """The id in the text of a token; empty where it is none."""
    found = _TEXT.fullmatch(text)
    return found[1] if found else ""


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

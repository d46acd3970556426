"""What a server says beside a refusal, in its WWW-Authenticate header (RFC 6750, RFC 9728)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MOST_CHARACTERS = 8_192
_PARAMETER = re.compile(r'(?<![\w-])(error|scope|resource_metadata)\s*=\s*(?:"([^"]*)"|([^\s,"]+))')
_BEARER = re.compile(r"(?:^|,)\s*(?:Bearer|DPoP)(?:\s|,|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Challenge:
    """The parameters that matter for a sign-in; `wants_token` is false where only other schemes are named."""

    error: str = ""
    scope: str = ""
    resource_metadata: str = ""
    wants_token: bool = True

    @classmethod
    def of(cls, header: str) -> Challenge:
        text = header[:_MOST_CHARACTERS]
        found = {match[1]: match[2] or match[3] or "" for match in reversed(list(_PARAMETER.finditer(text)))}
        return cls(**found, wants_token=not text.strip() or _BEARER.search(text) is not None)


def is_insufficient_scope(status: int, header: str) -> bool:
    """Whether the token is fine and only not allowed enough."""
    return status == 403 and Challenge.of(header).error == "insufficient_scope"


def joined_scopes(*scopes: str) -> str:
    """All scopes that are named, each once, in their order."""
    return " ".join(dict.fromkeys(scope for text in scopes for scope in text.split()))

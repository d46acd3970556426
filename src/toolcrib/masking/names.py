"""Which names say that their value is a secret: of variables, headers, options and keys."""

from __future__ import annotations

import re
from itertools import pairwise

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Enough on their own in an entry, where a name stands beside a value.
_WORDS = frozenset(
    """
    apikey auth authorization bearer cookie cookies cred creds credential credentials dsn jwt key keys oauth otp pass
    passcode passphrase passwd password passwords pat pin private pwd pw salt sas secret secrets sid sig signature token
    tokens webhook
    """.split()
)
# In running text these are ordinary words as often as not: "key: value", "auth: off", "tokens: 512".
_ORDINARY = frozenset("auth key keys oauth pass pat pin private salt secrets sid sig signature tokens webhook".split())
_ENDINGS = ("token", "secret", "password", "passwd", "passphrase", "credential", "credentials", "apikey", "accesskey")
# `api_key` and `access_key` name a secret wherever they stand.
_OPENS = frozenset(
    "access account admin api app auth client encryption license master private secret service signing".split()
)
_AMOUNTS = frozenset("max min maximum minimum count limit budget window length size ttl".split())
# A name that ends so says where the secret is, or what kind it is.
_PLACES = frozenset("file path dir directory folder type url uri endpoint".split())


def is_secret_name(name: str) -> bool:
    """Whether a value under this name in an entry is taken for a secret."""
    words = _words(name)
    if not words or _AMOUNTS.intersection(words) or words[-1] in _PLACES:
        return False
    return any(word in _WORDS or word.endswith(_ENDINGS) for word in words)


def is_secret_in_text(name: str) -> bool:
    """The same for running text, where only names that hardly mean anything else count."""
    words = _words(name)
    if not is_secret_name(name):
        return False
    if any((word in _WORDS or word.endswith(_ENDINGS)) and word not in _ORDINARY for word in words):
        return True
    return any(first in _OPENS and second in {"key", "keys"} for first, second in pairwise(words))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]

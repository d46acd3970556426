"""The one place that knows every secret of this process: whatever leaves it as text goes through here."""

from __future__ import annotations

from typing import Any

from toolcrib.masking.known import KnownSecrets
from toolcrib.masking.masker import Masker, in_value


class Redactor:
    """Covers what any launch was given and any sign-in holds, in whatever is logged, printed or written down."""

    def __init__(self) -> None:
        self._known = KnownSecrets()
        self._tokens: dict[str, KnownSecrets] = {}
        self._masker = Masker()

    def __call__(self, text: str) -> str:
        """The text without known secrets, and without what looks like one."""
        return self._masker(text)

    def value(self, value: Any) -> Any:
        """The same for every text in a value made of maps and lists."""
        return self._masker.value(value)

    def known(self, text: str) -> str:
        """The text without known secrets alone: for words in which much looks like one."""
        return self._masker.known.masked(text) if self._masker.known else text

    def known_in(self, value: Any) -> Any:
        """The same for every text in a value made of maps and lists."""
        return in_value(value, self.known, self._masker.known) if self._masker.known else value

    def cover(self, known: KnownSecrets) -> None:
        """Cover these from now on."""
        merged = self._known.and_also(known)
        if merged is not self._known:
            self._known = merged
            self._renew()

    def cover_tokens(self, owner: str, tokens: KnownSecrets) -> None:
        """Cover these of `owner` from now on, in place of those it had before."""
        self._tokens[owner] = tokens
        self._renew()

    def _renew(self) -> None:
        known = self._known
        for tokens in self._tokens.values():
            known = known.and_also(tokens)
        self._masker = Masker(known)


# One for a process, like its standard error.
REDACTOR = Redactor()

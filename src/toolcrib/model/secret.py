"""A value that nobody may see by accident."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import NoReturn

MASK = "***"


class Secret:
    """Text that shows itself to nobody: only `reveal` gives it, where it is handed to the one who needs it.

    Whatever prints it, formats it or writes it down gets a mask. It is not copied into another process.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __repr__(self) -> str:
        return MASK

    def __str__(self) -> str:
        return MASK

    def __format__(self, _: str) -> str:
        return MASK

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        mine, theirs = (one.reveal().encode("utf-8", "surrogatepass") for one in (self, other))
        return hmac.compare_digest(mine, theirs)

    __hash__ = None  # type: ignore[assignment] # a key of a map would be looked at

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _: object) -> Secret:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written down")


def revealed(values: Mapping[str, Secret]) -> dict[str, str]:
    """The texts by their names, for whoever is given them."""
    return {name: value.reveal() for name, value in values.items()}


def hidden(values: Mapping[str, str]) -> dict[str, Secret]:
    """The same the other way round."""
    return {name: Secret(value) for name, value in values.items()}

"""From what a publisher wrote to texts of a configuration entry: fixed values, defaults, and what a person must give."""

from __future__ import annotations

import re
from collections.abc import Mapping

from toolcrib.config.endpoints import variable_stem
from toolcrib.registry import grammar
from toolcrib.registry.entry import Input
from toolcrib.registry.recipe import Need, Refused

# Variables may hold variables: without an end, a short entry could grow into an endless text.
_MOST_PLACES = 200
_MOST_CHARACTERS = 4_000
_PLACE = re.compile(r"\$?\{([A-Za-z0-9_.-]+)\}")
# Values that only show where a value goes; entries of the first schema are full of them.
_EXAMPLE = re.compile(
    r"<[^<>]+>|\$\{input:|\b(?:your|my)[-_ ]|/?path/(?:to|of)\b|absolute[_/ ]path|\bx{3,}\b|\.\.\.$|\bchange[-_ ]?me\b|\bhere\b$",
    re.IGNORECASE,
)


class Asking:
    """Makes texts out of inputs and remembers each value that has to be asked for.

    With `asks_unknown` also a `{name}` that nobody declared is asked for: an address or a header is of no use with it.
    """

    def __init__(self, short_name: str, *, asks_unknown: bool = False) -> None:
        self._stem = variable_stem(short_name)
        self._asks_unknown = asks_unknown
        self._needs: dict[str, Need] = {}
        self._places_left = _MOST_PLACES
        self._characters_left = _MOST_CHARACTERS

    @property
    def needs(self) -> tuple[Need, ...]:
        """What was asked for: required first, else in the order it came up."""
        return tuple(sorted(self._needs.values(), key=lambda need: not need.is_required))

    def variable(self, name: str) -> str:
        """The environment variable that a person sets for something that is no environment variable itself."""
        word = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").upper() or "VALUE"
        full = word if word.startswith(self._stem) else f"{self._stem}_{word}"
        return f"_{full}" if full[0].isdigit() else full

    def text(self, given: Input, variable: str, purpose: str) -> str | None:
        """What stands in the entry for `given`; None where nothing is needed and nobody said anything."""
        hides_secret = given.is_secret and not self._places(given.value, given.variables)
        if given.value and not hides_secret and not is_example(given.value):
            return self.filled(given.value, given.variables)
        is_required = given.is_required or bool(given.value)
        if given.default and not given.is_secret and not is_example(given.default):
            return self._with_default(given, variable, purpose)
        self._ask(variable, purpose, given, is_required=is_required)
        return f"${{{variable}}}" if is_required else None

    def filled(self, template: str, variables: Mapping[str, Input]) -> str:
        """A template with its `{name}`s replaced; a name nobody declared stays as it is."""
        pieces, end = [], 0
        places = self._places(template, variables)
        self._spend(places=len(places))
        for match, declared in places:
            value = self.text(declared, self.variable(match[1]), f"the part {{{match[1]}}}") or ""
            self._spend(characters=len(value))
            pieces += [literal(template[end : match.start()]), value]
            end = match.end()
        return "".join([*pieces, literal(template[end:])])

    def _spend(self, *, places: int = 0, characters: int = 0) -> None:
        self._places_left -= places
        self._characters_left -= characters
        if self._places_left < 0 or self._characters_left < 0:
            raise Refused("its variables expand to more text than is allowed")

    def _places(self, template: str, variables: Mapping[str, Input]) -> list[tuple[re.Match[str], Input]]:
        unknown = Input(is_required=True, is_secret=True) if self._asks_unknown else None
        found = ((match, variables.get(match[1], unknown)) for match in _PLACE.finditer(template))
        return [(match, declared) for match, declared in found if declared is not None]

    def _with_default(self, given: Input, variable: str, purpose: str) -> str:
        self._ask(variable, purpose, given, is_required=False)
        plain = not re.search(r"[${}]", given.default)
        return (
            f"${{{variable}:-{grammar.plain(given.default)}}}" if plain else self.filled(given.default, given.variables)
        )

    def _ask(self, variable: str, purpose: str, given: Input, *, is_required: bool) -> None:
        known = self._needs.get(variable)
        self._needs[variable] = Need(
            variable,
            purpose,
            given.description,
            is_required=is_required or (known is not None and known.is_required),
            is_secret=given.is_secret or (known is not None and known.is_secret),
            choices=given.choices,
        )


def literal(text: str) -> str:
    """Foreign text as an entry must write it, so that it refers to nothing of this machine."""
    return grammar.plain(text).replace("$", "${$}")


def is_example(text: str) -> bool:
    """Whether a text only shows what should stand there."""
    return _EXAMPLE.search(text) is not None

"""Every text of a definition, with the place where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from toolcrib.scanner.reading_form import MOST_CHARACTERS as MOST_IN_PIECE

MOST_DEPTH = 64
# More than a definition of 64 KiB, the largest that is taken over by default, has room for.
MOST_TEXTS = 20_000
MOST_CHARACTERS = 200_000
_OVERLAP = 1_000


@dataclass(frozen=True, slots=True)
class Text:
    """One text, or the name of a member; `where` is a JSON pointer into the definition."""

    where: str
    words: str
    is_name: bool = False
    is_required: bool = False

    @property
    def is_about_parameter(self) -> bool:
        """Whether it tells a model what to put into a parameter."""
        return "/properties/" in self.where or self.where.startswith("/arguments/")

    @property
    def is_for_the_model(self) -> bool:
        """Whether it is what a server tells the models that use it."""
        return self.where == "/instructions"

    @property
    def is_value(self) -> bool:
        """Whether it is a value that is shown or used, rather than words about something."""
        member = self.where.rstrip("0123456789").rstrip("/").rpartition("/")[2]
        return member in {"default", "examples", "example", "enum", "const", "pattern"}


class TooMuchText(Exception):
    """A definition has more text than can be looked at; `where` is the place where looking ended."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where


def texts(definition: Mapping[str, Any]) -> Iterator[Text]:
    """All strings and names of members; raises `TooMuchText` after those that are within the bounds."""
    count, room = 0, MOST_CHARACTERS
    required: set[str] = set()
    for text in _texts(definition, "", 0, required):
        count, room = count + 1, room - len(text.words)
        if count > MOST_TEXTS or room < 0:
            raise TooMuchText(text.where)
        yield text


def pieces(text: Text) -> Iterator[Text]:
    """A long text in parts that patterns can be let loose on; each begins with the end of the one before."""
    step = MOST_IN_PIECE - _OVERLAP
    for at in range(0, max(1, len(text.words) - _OVERLAP), step):
        yield replace(text, words=text.words[at : at + MOST_IN_PIECE]) if len(text.words) > MOST_IN_PIECE else text


def _texts(value: object, where: str, depth: int, required: set[str]) -> Iterator[Text]:
    if isinstance(value, str):
        yield Text(where, value, is_required=where in required)
    elif isinstance(value, Mapping | list | tuple):
        if depth == MOST_DEPTH:
            raise TooMuchText(where)
        if isinstance(value, Mapping):
            required.update(_descriptions_of_required(value, where))
        for name, member in value.items() if isinstance(value, Mapping) else enumerate(value):
            place = f"{where}/{_escaped(str(name))}"
            if isinstance(name, str):
                yield Text(place, name, is_name=True)
            yield from _texts(member, place, depth + 1, required)


def _descriptions_of_required(value: Mapping[Any, Any], where: str) -> Iterator[str]:
    """Where the words stand about each parameter that has to be given: in a schema, and in an argument of a prompt."""
    required = value.get("required")
    if required is True:
        yield f"{where}/description"
    elif isinstance(required, list | tuple):
        for name in required[:MOST_TEXTS]:
            yield f"{where}/properties/{_escaped(str(name))}/description"


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")

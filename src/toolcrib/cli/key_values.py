"""The arguments of a tool as `KEY=VALUE` words, each value read as the tool's schema says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from toolcrib.errors import InvalidArguments, Problem
from toolcrib.rtfs.types import ANY, NEVER, Entry, Map, MapOf, TypeExpr
from toolcrib.schema.convert import convert
from toolcrib.schema.from_text import NotOfType, bare_members, from_json, from_text, item_type
from toolcrib.schema.type_writer import members_of_object
from toolcrib.search.suggest import nearest

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """One word of the command line, taken apart."""

    key: str
    text: str
    is_json: bool

    def value(self, type: TypeExpr) -> Any:
        return from_json(self.text) if self.is_json else from_text(self.text, type)


def arguments_of(words: Sequence[str], given: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """What is given as JSON and what the words add to it; InvalidArguments names every word that does not fit."""
    input = convert(schema).type
    takes_any_key = schema.get("additionalProperties") is True
    found: dict[Path, tuple[TypeExpr, list[Pair]]] = {}
    problems: list[Problem] = []
    for word in words:
        pair = _pair(word)
        place = None if pair is None else _place(pair.key, input) or (((pair.key,), ANY) if takes_any_key else None)
        if pair is None or place is None:
            problems.append(_misfit(word, pair, input))
        else:
            found.setdefault(place[0], (place[1], []))[1].append(pair)
    arguments = deepcopy(dict(given))
    for path, (type, pairs) in found.items():
        try:
            _put(arguments, path, _value(pairs, type))
        except NotOfType as problem:
            problems.append(Problem(".".join(path), str(problem)))
    if problems:
        raise InvalidArguments(problems)
    return arguments


def _misfit(word: str, pair: Pair | None, input: TypeExpr) -> Problem:
    if pair is None:
        return Problem("", f"expected KEY=VALUE, found {word!r}{_example(word, input)}")
    return Problem(pair.key, f"there is no such parameter{_meant(pair.key, input)}")


def _pair(word: str) -> Pair | None:
    key, equals, text = word.partition("=")
    is_json = key.endswith(":")
    key = key.removesuffix(":")
    return Pair(key, text, is_json) if equals and key else None


def _place(key: str, type: TypeExpr) -> tuple[Path, TypeExpr] | None:
    """Where a key leads in an object, and to which type: to itself, or below another as in `filter.state`."""
    for one in bare_members(type):
        if isinstance(one, MapOf):
            return (key,), one.value
        if one == ANY or one == Map():
            parts = tuple(key.split("."))
            return parts if all(parts) else (key,), ANY
        if isinstance(one, Map) and (found := _place_within(key, one)) is not None:
            return found
    return None


def _place_within(key: str, object: Map) -> tuple[Path, TypeExpr] | None:
    types = {entry.key: entry.type for entry in object.entries}
    if key in types:
        return (key,), types[key]
    dots = [at for at, character in enumerate(key) if character == "."]
    for head, tail in ((key[:at], key[at + 1 :]) for at in reversed(dots)):
        below = _place(tail, types[head]) if head in types and tail else None
        if below is not None:
            return (head, *below[0]), below[1]
    return None if object.rest is None or object.rest == NEVER else ((key,), object.rest)


def _value(pairs: Sequence[Pair], type: TypeExpr) -> Any:
    if len(pairs) == 1:
        return pairs[0].value(type)
    item = ANY if type == ANY else item_type(type)
    if item is None:
        raise NotOfType("it is given more than once, but is not a list")
    return [pair.value(item) for pair in pairs]


def _put(arguments: dict[str, Any], path: Path, value: Any) -> None:
    *above, last = path
    here = arguments
    for name in above:
        here = here.setdefault(name, {})
        if not isinstance(here, dict):
            raise NotOfType(f"{name} is already given as something other than an object")
    if last in here:
        raise NotOfType("it is given more than once")
    here[last] = value


def _meant(key: str, input: TypeExpr) -> str:
    close = nearest(key, [entry.key for entry in members_of_object(input).entries], limit=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _example(word: str, input: TypeExpr) -> str:
    """What was probably meant by a value without a key: the first parameter that is required."""
    entries: list[Entry] = sorted(members_of_object(input).entries, key=lambda entry: entry.optional)
    return f"; for example {entries[0].key}={word}" if entries else ""

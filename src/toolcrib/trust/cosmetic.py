"""Changes of a definition that change nothing of what it means: mended typos, another layout, another form of results."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from toolcrib.model.pin import PinnedKind
from toolcrib.trust.wordless import at_home, is_number_or_date, new_words

MOST_MENDED_WORDS = 3
MOST_DISTANCE = 2
LEAST_LETTERS = 4
# Comparing letters takes the square of the length, and servers choose how long their words are.
MOST_LETTERS = 40

Path = tuple[str, ...]

_TEXTS = frozenset({"description", "title", "$comment", "instructions"})
# Compared in ways of their own.
_APART = frozenset({"icons", "outputSchema"})
_DIALECT = re.compile(r"https?://json-schema\.org/[\w./-]{1,60}#?")
# Values rather than descriptions of values: whatever a member in them is called, it is data.
_VALUES = frozenset({"default", "const", "enum", "examples", "example", "_meta"})
_NAMES_BELOW = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_NO_SCHEMAS = _VALUES | _APART
_UNORDERED = frozenset({"required", "enum", "type"})
# One of these more or less turns a sentence round.
_DECISIVE = frozenset("not no never without only must always cannot dont none unless except before after".split())
_WORD = re.compile(r"\S+")
_MENDABLE = re.compile(r"[^\W\d_]+")
# Dots, stars and minus signs before a word are part of it: `./tmp`, `*.py`, `-30`. So is a star behind it.
_BEFORE_WORDS = "\"'([{`"
_BEHIND_WORDS = ".,;:!?\"')]}`"
_BETWEEN_WORDS = re.compile(r"--?|[\u2013\u2014]|[,;:\"'()\[\]{}`]+")
# Marks of Markdown, which say nothing: a bullet at the beginning of a line, and stars around bold words.
_BULLET = re.compile(r"^([ \t]*)[-*+\u2022](?=[ \t])", re.MULTILINE)
_BOLD = re.compile(r"\*\*(?=\w)([^*\n]{1,200}?)(?<=\w)\*\*")


def is_cosmetic(kind: PinnedKind, before: str, now: Mapping[str, Any]) -> bool:
    """Whether nobody needs to look at a definition anew; `before` is the one that was agreed to, in canonical JSON."""
    try:
        old = json.loads(before)
    except ValueError:
        return False
    if not isinstance(old, dict):
        return False
    if kind == "server":
        return _same_texts(old, now) and _own_name(old) == _own_name(now)
    return (
        _is_equal(_shape(_top(kind, old)), _shape(_top(kind, now)))
        and _closed(old) <= _closed(now)
        and _same_texts(_without(old, _APART), _without(now, _APART))
        and at_home(old.get("icons"), now.get("icons"))
        and _same_results(old, now)
    )


def _own_name(words: Mapping[str, Any]) -> list[str]:
    """What a server calls itself, without the number of its release, which some write behind their name."""
    return _words(str(words.get("name", "")).rstrip("0123456789.)").rstrip(" -_@/("))


def _top(kind: PinnedKind, definition: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared member by member."""
    left = _without(definition, _APART)
    if left.get("execution") == {"taskSupport": "forbidden"}:
        del left["execution"]  # it means the same where it is not said
    return _without_state(left) if kind == "resource" else left


def _without(definition: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in definition.items() if key not in names}


def _without_state(resource: dict[str, Any]) -> dict[str, Any]:
    """A resource that was written to is the same resource."""
    for key in ("annotations", "_meta"):
        if isinstance(told := resource.get(key), Mapping):
            resource[key] = {name: value for name, value in told.items() if not is_number_or_date(name, value)}
    left = {key: value for key, value in resource.items() if not is_number_or_date(key, value)}
    return {key: value for key, value in left.items() if value or key not in {"annotations", "_meta"}}


def _shape(value: Any, key: str = "", *, is_names: bool = False) -> Any:
    """What is left of a definition without its texts."""
    if key in _VALUES:
        return sorted(value, key=_sortable) if key in _UNORDERED and isinstance(value, list | tuple) else value
    if isinstance(value, Mapping):
        return {
            name: _shape(item, "" if is_names else name, is_names=name in _NAMES_BELOW and not is_names)
            for name, item in value.items()
            if is_names or not _is_left_out(name, item)
        }
    if isinstance(value, list | tuple):
        items = [_shape(item) for item in value]
        return sorted(items, key=_sortable) if key in _UNORDERED else items
    return value


def _is_equal(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON, where 1 is not `true`, as it is here."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_is_equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_equal, one, other))
    return bool(one == other)


def _is_left_out(name: str, value: Any) -> bool:
    if name == "additionalProperties":  # more of them may be refused than before, and not less
        return isinstance(value, bool) or value == {}
    if name == "$schema":
        return isinstance(value, str) and _DIALECT.fullmatch(value) is not None
    return name in _TEXTS and isinstance(value, str)


def _closed(value: Any, path: Path = (), *, is_names: bool = False) -> set[Path]:
    """Where arguments without a name of their own are refused."""
    found: set[Path] = set()
    if isinstance(value, Mapping):
        if not is_names and value.get("additionalProperties") is False:
            found.add(path)
        for name, item in value.items():
            if is_names or name not in _NO_SCHEMAS:
                found |= _closed(item, (*path, str(name)), is_names=not is_names and name in _NAMES_BELOW)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            found |= _closed(item, (*path, str(number)))
    return found


def _same_results(old: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether the form of results, which new versions of an SDK write in other ways, tells nothing new in words."""
    before, after = (dict(_texts(one.get("outputSchema"))) for one in (old, now))
    mended = {text for path, text in after.items() if path in before and is_same_text(before[path], text)}
    return not new_words(old, now.get("outputSchema"), mended)


def _sortable(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _same_texts(old: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    before, after = dict(_texts(old)), dict(_texts(now))
    return before.keys() == after.keys() and all(is_same_text(before[path], after[path]) for path in before)


def _texts(value: Any, path: Path = (), *, is_names: bool = False) -> Iterator[tuple[Path, str]]:
    """Each text for people and models, with its place."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not is_names and isinstance(item, str) and name in _TEXTS:
                yield (*path, name), item
            elif is_names or name != "_meta":
                below = not is_names and name in _NAMES_BELOW
                yield from _texts(item, (*path, str(name)), is_names=below)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _texts(item, (*path, str(number)))


def is_same_text(before: str, now: str) -> bool:
    """Whether two texts differ at most in case, space, punctuation and a few mended words."""
    old, new = _words(before), _words(now)
    if len(old) != len(new):
        return False
    mended = [(one, other) for one, other in zip(old, new, strict=True) if one != other]
    return len(mended) <= MOST_MENDED_WORDS and all(_is_mended(*pair) for pair in mended)


def _words(text: str) -> list[str]:
    plain = _BOLD.sub(r"\1", _BULLET.sub(r"\1", text))
    return [_bare(word).casefold() for word in _WORD.findall(plain) if not _BETWEEN_WORDS.fullmatch(word)]


def _bare(word: str) -> str:
    """A word without the punctuation around it; what is nothing but dots, or a path that ends in them, keeps them."""
    begun = word.lstrip(_BEFORE_WORDS)
    bare = begun.rstrip(_BEHIND_WORDS)
    return bare if bare and not bare.endswith(("/", "\\")) else begun


def _is_mended(before: str, now: str) -> bool:
    """Whether one word is the other with a typo less or more.

    Typos spare the first letter as a rule, and words of opposite meaning differ there: include and exclude, encrypt and decrypt.
    """
    if (
        min(len(before), len(now)) < LEAST_LETTERS
        or max(len(before), len(now)) > MOST_LETTERS
        or before[0] != now[0]
        or {before, now} & _DECISIVE
    ):
        return False
    if not (_MENDABLE.fullmatch(before) and _MENDABLE.fullmatch(now)):
        return False
    return _distance(before, now) <= MOST_DISTANCE


def _distance(one: str, other: str) -> int:
    """How many letters have to be put in, taken out or replaced."""
    if abs(len(one) - len(other)) > MOST_DISTANCE:
        return MOST_DISTANCE + 1
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        last, row[0] = row[0], number
        for place, against in enumerate(other, 1):
            last, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, last + (letter != against))
    return row[-1]

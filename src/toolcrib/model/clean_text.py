"""Foreign text that can do nothing but be read: the one cleaner for terminals, logs and files of logs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from toolcrib.model.hidden_characters import HIDDEN, JOINERS, MISPLACED_JOINER, MISPLACED_SELECTOR, SELECTORS

REPLACEMENT = "\ufffd"

_COLOUR_SEQUENCE = re.compile(r"\x1b\[[0-9;:]*m")
_LINE_END = re.compile(r"\r\n")
_ANY_LINE_END = re.compile(r"\r\n|\r")


def clean(text: str) -> str:
    """One line of foreign text that can do nothing but be read; what was hidden in it shows as a mark."""
    if _is_plain(text):
        return text
    return _unsafe().sub(REPLACEMENT, _COLOUR_SEQUENCE.sub("", text).replace("\n", " ").replace("\t", " "))


def clean_lines(text: str) -> str:
    """The same for a text of several lines."""
    if _is_plain(text.replace("\n", "")):
        return text
    plain = _COLOUR_SEQUENCE.sub("", _LINE_END.sub("\n", text)).expandtabs(4)
    return _unsafe().sub(REPLACEMENT, plain)


def clean_words(text: str) -> str:
    """Words for agents, of one line or several: only what could hide or steer is replaced; what shows stays as it is."""
    if text.isascii() and text.isprintable():
        return text
    return _unsafe().sub(REPLACEMENT, _COLOUR_SEQUENCE.sub("", text.replace("\r\n", "\n")))


def cleaned(value: Any) -> Any:
    """The same for every text in a value made of maps and lists, the keys included; the very value where all are fine."""
    if isinstance(value, str):
        return clean_words(value)
    if isinstance(value, Mapping):
        return _cleaned_map(value)
    if isinstance(value, list | tuple):
        made = [cleaned(item) for item in value]
        return value if all(new is old for new, old in zip(made, value, strict=True)) else made
    return value


def _cleaned_map(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    made: dict[Any, Any] = {}
    is_same = True
    for key, item in value.items():
        name, shown = cleaned(key), cleaned(item)
        is_same = is_same and name is key and shown is item
        while name in made:  # Two names that differ in nothing that shows.
            name = f"{name}{REPLACEMENT}"
        made[name] = shown
    return value if is_same else made


def clean_output(written: bytes) -> str:
    """What a program wrote, as lines: a carriage return, with which it would write over a line, begins a new one."""
    return clean_lines(_ANY_LINE_END.sub("\n", written.decode("utf-8", "replace")))


def clean_json(text: str) -> str:
    """JSON text that means the same, with everything a terminal might obey written as an escape."""
    return _unsafe_in_json().sub(lambda found: _json_escape(found[0]), text)


def spelled_out(text: str) -> str:
    """One line for people: each character that can't be seen, or that a terminal would obey, is written as one escape."""
    plain = text.replace("\n", "\\n").replace("\t", "\\t")
    return _unsafe_in_json().sub(lambda found: _escape(found[0]), plain)


def escape_unsafe(json_text: str) -> str:
    """JSON text that means the same, with everything that could hide or steer written as an escape; joined emoji stay."""
    if json_text.isascii() and "\x7f" not in json_text:  # JSON has no other control characters
        return json_text
    return _unsafe().sub(lambda found: _json_escape(found[0]), json_text)


def _is_plain(text: str) -> bool:
    # Most text is; this costs next to nothing.
    return text.isascii() and text.isprintable()


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


# Both take milliseconds to compile, and a start reads little that is not plain.
@cache
def _unsafe() -> re.Pattern[str]:
    # Joiners and variation selectors belong to emoji and some scripts; anywhere else they only hide something.
    return re.compile(f"[{HIDDEN}]|{MISPLACED_SELECTOR}|{MISPLACED_JOINER}")


@cache
def _unsafe_in_json() -> re.Pattern[str]:
    return re.compile(f"[{HIDDEN}{JOINERS}{SELECTORS}]")

"""Foreign text that can do nothing but be read: the one cleaner for terminals, logs and files of logs."""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"

_COLOUR_SEQUENCE = re.compile(r"\x1b\[[0-9;:]*m")
_LINE_END = re.compile(r"\r\n")
_ANY_LINE_END = re.compile(r"\r\n|\r")
# Joiners and variation selectors belong to emoji and some scripts; anywhere else they only hide something.
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f"
_FOREIGN = f"[^\\x00-\\x7f{_JOINERS}{_SELECTORS}]"
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, the escape among them
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that turn the direction of the text
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f"
    "\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # tags and selectors that can carry a whole message unseen
    "\ud800-\udfff"  # halves of characters, which no encoding can write
)
_UNSAFE = re.compile(f"[{_HIDDEN}]|(?<!{_FOREIGN})[{_JOINERS}{_SELECTORS}]|[{_JOINERS}](?!{_FOREIGN})")
_UNSAFE_IN_JSON = re.compile(f"[{_HIDDEN}{_JOINERS}{_SELECTORS}]")


def clean(text: str) -> str:
    """One line of foreign text that can do nothing but be read; what was hidden in it shows as a mark."""
    if _is_plain(text):
        return text
    return _UNSAFE.sub(REPLACEMENT, _COLOUR_SEQUENCE.sub("", text).replace("\n", " ").replace("\t", " "))


def clean_lines(text: str) -> str:
    """The same for a text of several lines."""
    if _is_plain(text.replace("\n", "")):
        return text
    plain = _COLOUR_SEQUENCE.sub("", _LINE_END.sub("\n", text)).expandtabs(4)
    return _UNSAFE.sub(REPLACEMENT, plain)


def clean_output(written: bytes) -> str:
    """What a program wrote, as lines: a carriage return, with which it would write over a line, begins a new one."""
    return clean_lines(_ANY_LINE_END.sub("\n", written.decode("utf-8", "replace")))


def clean_json(text: str) -> str:
    """JSON text that means the same, with everything a terminal might obey written as an escape."""
    return _UNSAFE_IN_JSON.sub(lambda found: _json_escape(found[0]), text)


def _is_plain(text: str) -> bool:
    # Most text is; this costs next to nothing.
    return text.isascii() and text.isprintable()


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))

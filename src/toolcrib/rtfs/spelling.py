"""How names and texts are spelled: what may be a keyword, and strings that nothing in them can break out of."""

from __future__ import annotations

import re

from toolcrib.rtfs.forms import Form, ListForm, Literal, MapForm, Symbol, VectorForm

_IDENTIFIER_TEXT = r"[A-Za-z_$+\-*/=<>!?%][A-Za-z0-9_$+\-*/=<>!?%.@]*"
IDENTIFIER = re.compile(_IDENTIFIER_TEXT)
KEYWORD_NAME = re.compile(rf"{_IDENTIFIER_TEXT}(?::v[0-9]+(?:\.[0-9]+)*/{_IDENTIFIER_TEXT})?")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"'}

_ESCAPED = str.maketrans({character: f"\\{letter}" for letter, character in ESCAPES.items()})
# The language has no escape for these: control characters, line separators, marks that turn the text, half characters.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BRACKETS = {VectorForm: ("[", "]"), ListForm: ("(", ")"), MapForm: ("{", "}")}


def writable(text: str) -> str:
    """The text with a mark in place of each character that can only do harm in a file people read."""
    return _UNWRITABLE.sub("\ufffd", text)


def quoted(text: str) -> str:
    """A string literal."""
    return f'"{writable(text).translate(_ESCAPED)}"'


def key_text(name: str) -> str:
    """A name as a keyword where it can be one, else as a string."""
    return f":{name}" if KEYWORD_NAME.fullmatch(name) else quoted(name)


def form_text(form: Form) -> str:
    """Any form in one line."""
    if isinstance(form, Literal):
        return _literal_text(form)
    if isinstance(form, Symbol):
        return form.name
    opening, closing = _BRACKETS[type(form)]
    return f"{opening}{' '.join(map(form_text, form.items))}{closing}"


def _literal_text(literal: Literal) -> str:
    if literal.kind == "string":
        return quoted(literal.text)
    return f":{literal.text}" if literal.kind == "keyword" else literal.text

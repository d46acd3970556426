"""Secrets in the addresses of entries: people are given whole servers as links with a key in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolcrib.masking.names import is_secret_name
from toolcrib.masking.shapes import is_hash, is_opaque
from toolcrib.masking.spans import Span, places
from toolcrib.masking.texts import stands_for_a_value

_AFTER_SCHEME = re.compile(r"://[^/?#\s]*(?P<path>[^?#\s]*)(?P<rest>[?#]\S*)?")
_SEGMENT = re.compile(r"[^/@]+")
_PARAMETER = re.compile(r"(?:([^=&?#;]*)=)?([^&?#;]*)")
_PLAIN = re.compile(r"[A-Za-z_-]{1,15}|v?\d{1,3}(?:\.\d{1,3})*")
_BEFORE_HASHES = ("@", "/commit/", "/tree/", "/blob/", "/archive/", "/raw/", "/tarball/", "/zipball/")


def address_spans(text: str) -> Iterator[Span]:
    """Keys in the path of each address in a text, and every value of its query; who signs in is found in any text."""
    for address in _addresses(text):
        yield from _in_path(text, *address.span("path"))
        if address["rest"]:
            yield from _in_query(text, *address.span("rest"))


def named_in_addresses(text: str) -> Iterator[Span]:
    """What follows a telling name in the path of an address: `/key/…`."""
    for address in _addresses(text):
        yield from _after_names(text, *address.span("path"))


def _addresses(text: str) -> Iterator[re.Match[str]]:
    done = 0
    for at in places(text, "://"):
        if at >= done and (address := _AFTER_SCHEME.match(text, at)):
            done = address.end()
            yield address


def _in_path(text: str, start: int, end: int) -> Iterator[Span]:
    yield from _after_names(text, start, end)
    for segment in _SEGMENT.finditer(text, start, end):
        word = segment[0]
        if is_opaque(word, is_address=True) and not (is_hash(word) and _is_after_hash_word(text, segment.start())):
            yield Span(*segment.span())


def _after_names(text: str, start: int, end: int) -> Iterator[Span]:
    previous = ""
    for segment in _SEGMENT.finditer(text, start, end):
        word = segment[0]
        if is_secret_name(previous) and not _PLAIN.fullmatch(word) and not stands_for_a_value(word):
            yield Span(*segment.span())
        previous = word


def _is_after_hash_word(text: str, at: int) -> bool:
    return any(text.endswith(word, 0, at) for word in _BEFORE_HASHES)


def _in_query(text: str, start: int, end: int) -> Iterator[Span]:
    for parameter in _PARAMETER.finditer(text, start, end):
        if parameter[2] and not stands_for_a_value(parameter[2]):
            yield Span(*parameter.span(2))
        if parameter[1] and is_opaque(parameter[1], is_address=True):
            yield Span(*parameter.span(1))

"""Values known to be secret, found in a text in every way they are usually written."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from toolcrib.masking.escapes import LONGEST_ESCAPE, may_hide, readings
from toolcrib.masking.everyday import is_everyday
from toolcrib.masking.shapes import is_ordinary
from toolcrib.masking.spans import MASK, Span, covered, places

# A shorter value stands in ordinary text by chance: hiding it would spoil the text and even give the value away.
SHORTEST = 6
# The same in small letters is nearer to words and names.
_SHORTEST_IN_SMALL_LETTERS = 8
# What JSON may have as a number as well. Python takes no longer ones.
_WHOLE_NUMBER = re.compile(r"[1-9][0-9]{,4000}")
# Of what base64 makes of a value so many characters must be its own. The shortest values have that many, wherever they stand,
# and no other text has them: it would take terabytes for one to hold them by chance.
_SHORTEST_ENCODED = 7


class KnownSecrets:
    """Secrets by value, each with what is shown instead: the reference it came by, or a plain mask."""

    def __init__(self, labels: Mapping[str, str] | None = None) -> None:
        self._labels = dict(labels or {})
        self._written = {form: label for value, label in self._labels.items() for form in _forms(value)}
        self._numbers: dict[float, str] = {
            int(form): label for form, label in self._written.items() if _WHOLE_NUMBER.fullmatch(form)
        }
        self._bytes = tuple(_encoded(form) for form in self._written)
        self.longest = LONGEST_ESCAPE * max(map(len, self._written), default=0)

    def __bool__(self) -> bool:
        return bool(self._written)

    def __repr__(self) -> str:
        return f"KnownSecrets({len(self._labels)})"

    def and_also(self, others: KnownSecrets) -> KnownSecrets:
        """These and the others; itself where the others bring nothing new."""
        if others._labels.keys() <= self._labels.keys():
            return self
        return KnownSecrets({**others._labels, **self._labels})

    def only(self, wanted: Callable[[str], bool]) -> KnownSecrets:
        """Those whose value is wanted."""
        return KnownSecrets({value: label for value, label in self._labels.items() if wanted(value)})

    def are_in(self, raw: bytes) -> bool:
        """Whether any of them is in these bytes of JSON."""
        if not self._written:
            return False
        if any(form in raw for form in self._bytes):
            return True
        return may_hide(raw) and any(True for _ in self.spans(raw.decode("utf-8", "replace")))

    def spans(self, text: str) -> Iterator[Span]:
        """Every place one of them stands at; places may overlap."""
        yield from self._plain_spans(text)
        for reading in readings(text) if self._written else ():
            for start, end, label in self._plain_spans(reading.text):
                yield Span(*reading.place(start, end), label)

    def _plain_spans(self, text: str) -> Iterator[Span]:
        for form, label in self._written.items():
            for at in places(text, form):
                yield Span(at, at + len(form), label)

    def masked(self, text: str) -> str:
        """The text in which none of them stands any more."""
        found = list(self.spans(text))
        if not found:
            return text
        shown = covered(text, found)
        # What is left on both sides of a label may happen to make up another one; a mask is shorter than any secret.
        while spans := [span._replace(label=MASK) for span in self.spans(shown)]:
            shown = covered(shown, spans)
        return shown

    def number(self, value: float) -> float | str:
        """The number, or what is shown instead where its digits are one of them; a part of it is never covered."""
        return self._numbers.get(abs(value), value) if self._numbers else value


def labelled(found: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Label by value, of pairs of a label and a value; the first label of a value stays, what is too short is left out."""
    labels: dict[str, str] = {}
    for label, value in found:
        if len(value.strip()) >= SHORTEST and value.strip(MASK):
            labels.setdefault(value, label)
    return {value: MASK if _tells(label, labels) else label for value, label in labels.items()}


def _tells(label: str, values: Iterable[str]) -> bool:
    """Whether a label would itself show one of the values."""
    return any(value in label for value in values)


def _forms(value: str) -> Iterator[str]:
    """The value as it may be written where nothing else is escaped than need be; each line of it too."""
    lines = [line.strip() for line in value.splitlines()]
    for text in dict.fromkeys([value, *(line for line in lines if len(line) >= SHORTEST)]):
        # Found faster than by undoing escapes, and also after a backslash that would make another escape of the first one.
        yield from (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])
        yield text.replace(" ", "+")
        yield from _in_small_letters(text)
        yield from _in_base64(_encoded(text))


def _in_small_letters(text: str) -> Iterator[str]:
    """The text as it is in the host of an address, unless anybody could have it in that form alone."""
    small = text.lower()
    if small == text or len(small) < _SHORTEST_IN_SMALL_LETTERS or is_everyday(small):
        return
    if is_ordinary(text) or not is_ordinary(small):
        yield small


def _in_base64(value: bytes) -> Iterator[str]:
    """What base64 makes of the value wherever it stands in what was encoded: `user:secret` holds it as well."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + value).decode().rstrip("=")
        # The first and the last character also carry bits of what stands around the value.
        own = encoded[-(-before * 4 // 3) : len(encoded) - (0 if (before + len(value)) % 3 == 0 else 1)]
        if len(own) >= _SHORTEST_ENCODED:
            yield own
            yield own.translate({ord("+"): "-", ord("/"): "_"})


def _encoded(text: str) -> bytes:
    """The bytes of a text that may hold bytes of the environment that are no UTF-8, or halves of characters."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")

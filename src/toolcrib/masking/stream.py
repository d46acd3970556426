"""Output that comes in pieces, passed on line by line: a secret cut in two is still found, and a key of many lines."""

from __future__ import annotations

from collections.abc import Iterator

from toolcrib.masking.key_blocks import KeyBlocks
from toolcrib.masking.masker import Masker
from toolcrib.masking.spans import Span, joined
from toolcrib.masking.texts import text_spans

# Of a longer line all is passed on but what may be the beginning of a secret.
LONGEST_LINE = 16 * 1024
# Of a key that nobody told us of, more than this tells that it is one.
_LONGEST_BEGINNING = 4 * 1024
# What is longer than this is no secret: it is not waited for until its end comes.
_MOST_WAITING = 2 * LONGEST_LINE
# The name before a value, by which it is recognised, is hardly longer.
_LONGEST_NAME = 128


class MaskedStream:
    """Holds the unfinished line back until its end came; `masker` may be changed between two pieces."""

    def __init__(self) -> None:
        self.masker = Masker()
        self._waiting = b""
        self._keys = KeyBlocks()

    def feed(self, piece: bytes) -> bytes:
        """Take a piece; what may be passed on now."""
        text = _decoded(self._waiting + piece)
        end = max(text.rfind("\n"), text.rfind("\r")) + 1
        if len(text) - end > LONGEST_LINE:
            end = self._before_secrets(text)
        self._waiting = _encoded(text[end:])
        return self._masked(text[:end], self._keys)

    def peek(self, more: bytes = b"") -> bytes:
        """The line that waits for its end, and what follows it, as they may be shown."""
        return self._masked(_decoded(self._waiting + more), self._keys.now())

    def finish(self) -> bytes:
        """The unfinished line; nothing more will come."""
        rest, self._waiting = self.peek(), b""
        return rest

    def _before_secrets(self, text: str) -> int:
        """The furthest place at which no secret is cut, neither one that is there nor one that may only have begun."""
        furthest = len(text) - max(self.masker.known.longest, _LONGEST_BEGINNING)
        end = next((span.start for span in self._uncut(text) if span.start < furthest < span.end), furthest)
        return max(0, end if len(text) - end <= _MOST_WAITING else furthest)

    def _uncut(self, text: str) -> Iterator[Span]:
        """Each secret that is there, with the name before it."""
        done = 0
        for span in joined((*self.masker.known.spans(text), *text_spans(text))):
            yield span._replace(start=max(done, span.start - _LONGEST_NAME))
            done = span.end

    def _masked(self, text: str, keys: KeyBlocks) -> bytes:
        return _encoded(self.masker(keys.covered(text))) if text else b""


def _decoded(text: bytes) -> str:
    """What is no UTF-8 survives the way there and back."""
    return text.decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")

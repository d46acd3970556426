"""Output that comes in pieces, passed on line by line: a secret cut in two is still found, and a key of many lines."""

from __future__ import annotations

from toolcrib.masking.key_blocks import KeyBlocks
from toolcrib.masking.masker import Masker
from toolcrib.masking.spans import joined
from toolcrib.masking.texts import text_spans

# Of a longer line all is passed on but what may be the beginning of a secret.
LONGEST_LINE = 16 * 1024
# Of a key that nobody told us of, more than this tells that it is one.
_LONGEST_BEGINNING = 4 * 1024
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
        end = self._before_key(text, len(text) - max(self.masker.known.longest, _LONGEST_BEGINNING))
        for span in sorted(self.masker.known.spans(text), reverse=True):
            if span.start < end < span.end:
                end = span.start
        return max(0, end)

    def _before_key(self, text: str, end: int) -> int:
        """The place before a key that nobody told us of, with the name before it, where `end` would cut one.

        Only what is near is looked at, since that takes its time: of a longer one its beginning is covered.
        """
        begin, done = max(0, end - _LONGEST_BEGINNING), 0
        for span in joined(text_spans(text[begin : max(0, end) + _LONGEST_BEGINNING])):
            if span.start < end - begin < span.end:
                return begin + max(done, span.start - _LONGEST_NAME)
            done = span.end
        return end

    def _masked(self, text: str, keys: KeyBlocks) -> bytes:
        return _encoded(self.masker(keys.covered(text))) if text else b""


def _decoded(text: bytes) -> str:
    """What is no UTF-8 survives the way there and back."""
    return text.decode("utf-8", "surrogateescape")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")

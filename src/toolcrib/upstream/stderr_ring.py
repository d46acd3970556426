"""The last words of a server on its standard error."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from toolcrib.masking.masker import Masker
from toolcrib.masking.stream import MaskedStream
from toolcrib.model.clean_text import clean_output

log = logging.getLogger(__name__)

RING_BYTES = 64 * 1024
# A line this long is taken before its end has come.
LONGEST_LINE_BYTES = 8 * 1024


class StderrRing:
    """Keeps the last `max_bytes`, cleaned and without secrets; mirrored to `file`, which never grows beyond twice that.

    Whole lines are taken: a character or a terminal code that comes in two pieces is still seen for what it is. They are
    cleaned before they are masked, since a code in the middle of a secret would hide it.
    """

    def __init__(self, max_bytes: int = RING_BYTES, file: Path | None = None) -> None:
        self._max_bytes = max_bytes
        self._begun = b""
        self._kept = bytearray()
        self._file = file
        self._stream = MaskedStream()

    def mask_with(self, masker: Masker) -> None:
        """Cover what this masker knows from now on: the server is started with other secrets, or for the first time."""
        self._stream.masker = masker

    def feed(self, chunk: bytes) -> None:
        """Take what the server wrote; disk trouble ends the mirror, never the caller."""
        # Nothing is cut off before it is masked: half a secret is not recognised any more.
        written = self._begun + chunk
        end = len(written) if len(written) > LONGEST_LINE_BYTES and b"\n" not in written else written.rfind(b"\n") + 1
        self._begun = written[end:]
        if end:
            self._keep(self._stream.feed(_cleaned(written[:end])))

    def finish(self) -> None:
        """The server will write no more; a last line without an end is kept as well."""
        begun, self._begun = self._begun, b""
        if begun:
            self._keep(self._stream.feed(_cleaned(begun + b"\n")))
        self._keep(self._stream.finish())

    def tail(self, lines: int = 20) -> str:
        """The last `lines` lines that are not blank."""
        text = (bytes(self._kept) + self._stream.peek(_cleaned(self._begun))).decode("utf-8", "replace")
        kept = [line for line in map(str.rstrip, text.split("\n")) if line]
        return "\n".join(kept[-lines:]) if lines > 0 else ""

    def _keep(self, masked: bytes) -> None:
        if not masked:
            return
        kept = masked[-self._max_bytes :]
        self._kept += kept
        del self._kept[: -self._max_bytes]
        if self._file is not None:
            self._mirror(self._file, kept)

    def _mirror(self, file: Path, cleaned: bytes) -> None:
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _append(file, cleaned) > 2 * self._max_bytes:
                with open(_opened(file, os.O_TRUNC), "wb") as rewritten:
                    rewritten.write(self._kept)
        except OSError as problem:
            log.warning("%s is no longer written: %s", file, problem)
            self._file = None


def _append(file: Path, chunk: bytes) -> int:
    """Append and return the new size."""
    with open(_opened(file, os.O_APPEND | os.O_CREAT), "ab", buffering=0) as appended:
        appended.write(chunk)
        return appended.tell()


def _opened(file: Path, manner: int) -> int:
    """A file to write to, not what a link in its place leads to; a new one is for its owner only."""
    return os.open(file, os.O_WRONLY | manner | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o600)


def _cleaned(written: bytes) -> bytes:
    return clean_output(written).encode("utf-8", "replace")

"""The last words of a server on its standard error."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

from toolcrib.masking.masker import Masker
from toolcrib.masking.stream import MaskedStream

log = logging.getLogger(__name__)

RING_BYTES = 64 * 1024

_TERMINAL_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_LINE_END = re.compile(r"\r\n|\n|\r")


def readable(text: bytes) -> str:
    """`text` as a person may see it in a terminal: broken UTF-8 replaced, nothing left that moves the cursor."""
    plain = _LINE_END.sub("\n", text.decode("utf-8", "replace"))
    return _CONTROL_CHARACTERS.sub("", _TERMINAL_SEQUENCES.sub("", plain))


class StderrRing:
    """Keeps the last `max_bytes` without secrets; mirrored to `file`, which never grows beyond twice that."""

    def __init__(self, max_bytes: int = RING_BYTES, file: Path | None = None) -> None:
        self._max_bytes = max_bytes
        self._kept = bytearray()
        self._file = file
        self._stream = MaskedStream()

    def mask_with(self, masker: Masker) -> None:
        """Cover what this masker knows from now on: the server is started with other secrets, or for the first time."""
        self._stream.masker = masker

    def feed(self, chunk: bytes) -> None:
        """Take what the server wrote; disk trouble ends the mirror, never the caller."""
        self._keep(self._stream.feed(chunk))

    def finish(self) -> None:
        """The server will write no more; a last line without an end is kept as well."""
        self._keep(self._stream.finish())

    def tail(self, lines: int = 20) -> str:
        """The last `lines` lines that are not blank, made readable."""
        text = [line.rstrip() for line in readable(bytes(self._kept) + self._stream.unfinished).split("\n")]
        return "\n".join([line for line in text if line][-lines:]) if lines > 0 else ""

    def _keep(self, chunk: bytes) -> None:
        if not chunk:
            return
        self._kept += chunk[-self._max_bytes :]
        del self._kept[: -self._max_bytes]
        if self._file is not None:
            self._mirror(self._file, chunk[-self._max_bytes :])

    def _mirror(self, file: Path, chunk: bytes) -> None:
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _append(file, chunk) > 2 * self._max_bytes:
                with file.open("wb") as rewritten:
                    rewritten.write(self._kept)
        except OSError as problem:
            log.warning("%s is no longer written: %s", file, problem)
            self._file = None


def _append(file: Path, chunk: bytes) -> int:
    """Append and return the new size; a new file is for its owner only."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    with open(descriptor, "ab", buffering=0) as appended:
        appended.write(chunk)
        return appended.tell()

"""What a server wrote to its standard error, from the file that gateways keep of it."""

from __future__ import annotations

from pathlib import Path

from toolcrib.errors import ToolcribError
from toolcrib.masking.texts import mask_text
from toolcrib.model.clean_text import clean_output

# The file of a server never grows beyond this.
MOST_BYTES = 256 * 1024
# Gateways rewrite the file with what each remembers; this is what several of them remember.
REMEMBERED_BYTES = 4 * MOST_BYTES


def last_lines(file: Path, count: int) -> list[str]:
    return _readable(_content(file))[-count:]


class FollowedLog:
    """The lines that are added to the file of a server, each once.

    A file that grew too long is rewritten in its place with its last part: what was seen of that is passed over.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._state: tuple[int, ...] = ()
        self._before = b""
        self._seen = b""
        self._is_rewritten = False

    def look(self) -> list[str]:
        """The lines added since the last look, readable."""
        state = _state(self._file)
        if state == self._state:
            return []
        self._state = state
        content = _content(self._file)
        content = content[: content.rfind(b"\n") + 1]
        if not content.startswith(self._before):
            self._is_rewritten, self._before = True, b""
        added = content[len(self._before) :]
        if self._is_rewritten:
            added = self._unseen(added, may_be_cut=not self._before)
        self._before = content
        self._seen = (self._seen + added)[-REMEMBERED_BYTES:]
        return _readable(added)

    def _unseen(self, written: bytes, *, may_be_cut: bool) -> bytes:
        """From the first line on that was not seen; the file may be looked at before that is written.

        Where the file was cut, its first line may be the end of one that was seen.
        """
        seen = set(self._seen.splitlines(keepends=True))
        lines = written.splitlines(keepends=True)
        for number, line in enumerate(lines):
            if line not in seen and not (may_be_cut and number == 0 and line in self._seen):
                self._is_rewritten = False
                return b"".join(lines[number:])
        return b""


def _state(file: Path) -> tuple[int, ...]:
    """Other numbers after each change."""
    try:
        status = file.stat()
    except OSError:
        return ()  # whoever opens it will say what is wrong
    return status.st_ino, status.st_size, status.st_mtime_ns


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - MOST_BYTES))
            return opened.read(MOST_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as problem:
        raise ToolcribError(f"{file} can't be read: {problem.strerror}") from problem


def _readable(written: bytes) -> list[str]:
    # Masked once more: the codes that were taken out may have stood within a secret, and older files were not masked.
    lines = [line.rstrip() for line in mask_text(clean_output(written)).split("\n")]
    return [line for line in lines if line]

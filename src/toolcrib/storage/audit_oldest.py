"""Which line of the audit log is the oldest that rotation has not dropped: that of an earlier file is missing."""

from __future__ import annotations

from pathlib import Path

from toolcrib.storage.audit_chain import Link, read_link

_LONGEST_LINE_BYTES = 64 * 1024


def first_line_kept(file: Path) -> int:
    """The number that this file states, or 1 where it is the first of all; 0 where it can't be told."""
    link = _first_link(file)
    if link is None:
        return 0
    return link.oldest or (1 if link.number == 1 else 0)


def first_line_of(file: Path) -> int:
    """The number of its first line; 0 where that is none of the chain."""
    link = _first_link(file)
    return 0 if link is None else link.number


def _first_link(file: Path) -> Link | None:
    try:
        with file.open("rb") as lines:
            return read_link(lines.readline(_LONGEST_LINE_BYTES).rstrip(b"\n"))
    except OSError:
        return None

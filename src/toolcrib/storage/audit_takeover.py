"""Where the audit log really ends, when its head does not say so: after a kill, a rotation, an upgrade or a change."""

from __future__ import annotations

import os
from pathlib import Path

from toolcrib.storage.audit_chain import BEGINNING, Head, inode_of, last_link, read_link

# The log has lines of a version that did not chain them.
BEGAN = "audit_began"
# Somebody else than us wrote to the log, cut it or put another in its place.
CHANGED = "audit_changed"
# The line before continues the log, but its writer was killed before the head said so; or it is somebody else's.
UNCONFIRMED = "audit_unconfirmed"

# More than this does not get between a line and its head.
_MOST_BYTES = 1024 * 1024


def end_of_log(log: int, head: Head | None, rotated: Path, known: Head) -> tuple[Head, str]:
    """The end of the log that is open as `log`, and what is to be written there first.

    That is BEGAN, CHANGED, UNCONFIRMED or nothing. `rotated` is the file before it, `known` the last line that this process has written itself.
    Whoever is killed between a line and the head leaves that one line, which continues the chain; whoever is killed while rotating leaves the
    head's file under that name. A log that was copied to another disk is another file with the same lines.
    """
    status = os.fstat(log)
    if head is None:
        return _without_head(log, status, rotated, known)
    begin = _where_head_ends(log, status, head, rotated)
    if begin is None:
        return head.in_file(status), CHANGED
    after, happened = _continued(_read(log, begin), head)
    return after.in_file(status), happened


def _without_head(log: int, status: os.stat_result, rotated: Path, known: Head) -> tuple[Head, str]:
    before = _tail_of(rotated)
    lines = [*before.splitlines(), *_read(log, max(0, status.st_size - _MOST_BYTES)).splitlines()]
    last = last_link(reversed(lines))
    if known.number > (0 if last is None else last.number):
        # Whoever takes the lines away with the head does not take away what we remember of them.
        return known.in_file(status), CHANGED
    if last is not None:
        return Head(last.number, last.hash, inode_of(status), status.st_size), CHANGED
    return Head(0, BEGINNING, inode_of(status), status.st_size), BEGAN if lines else ""


def _where_head_ends(log: int, status: os.stat_result, head: Head, rotated: Path) -> int | None:
    """The place in this file that follows what the head knows; None where there is none."""
    if inode_of(status) == head.inode:
        return head.size if status.st_size >= head.size else None
    try:
        if head.is_end_of(rotated.stat()):
            return 0
    except OSError:
        pass
    # A head of noise may name a place far behind every file.
    is_there = head.size <= status.st_size and _has_last_line(log, head)
    return head.size if is_there else None


def _has_last_line(log: int, head: Head) -> bool:
    """Whether the line that the head knows is where it was left; its hash stands for all lines before it."""
    begin = max(0, head.size - _MOST_BYTES)
    lines = _read(log, begin)[: head.size - begin].splitlines(keepends=True)
    last = read_link(lines[-1].removesuffix(b"\n")) if lines else None
    return last is not None and (last.number, last.hash) == (head.number, head.hash) and lines[-1].endswith(b"\n")


def _continued(text: bytes, head: Head) -> tuple[Head, str]:
    """The head moved on by each line that follows it, and what is to be said of them."""
    if not text:
        return head, ""
    if len(text) > _MOST_BYTES or not text.endswith(b"\n"):
        return head, CHANGED
    lines = text.splitlines()
    for line in lines:
        link = read_link(line)
        if link is None or not link.follows(head.number, head.hash):
            return head, CHANGED
        head = Head(link.number, link.hash, head.inode, head.size)
    # The head moves on with every line, and before the next one is written: a kill leaves one line, never two.
    return head, UNCONFIRMED if len(lines) == 1 else CHANGED


def _read(log: int, begin: int) -> bytes:
    os.lseek(log, begin, os.SEEK_SET)
    return os.read(log, _MOST_BYTES + 1)


def _tail_of(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            opened.seek(max(0, os.fstat(opened.fileno()).st_size - _MOST_BYTES))
            return opened.read()
    except OSError:
        return b""

"""How the lines of the audit log hang together: the hash at the end of each covers the line and the hash before it."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

import msgspec

# What the first line of all follows.
BEGINNING = bytes(32)
_SEAL = b',"hash":"'
_SEAL_BYTES = len(_SEAL) + 64 + len(b'"}')
_PACKED = struct.Struct("<Q32sQQ")
PACKED_BYTES = _PACKED.size
# No log gets so far: what says so was not written by us. Of heads of noise, one in a quarter of a billion is below.
_MOST_LINES = 2**48
_MOST_BYTES = 2**52


class Head(NamedTuple):
    """Where the chain ends: the number and the hash of its last line, and the file as that line left it."""

    number: int
    hash: bytes
    inode: int
    size: int

    def packed(self) -> bytes:
        return _PACKED.pack(*self)

    def sealed(self, fields: bytes, oldest: int = 0) -> tuple[bytes, Head]:
        """The next line, with these members of JSON in it, and where the chain ends then.

        The first line of a file says what it follows, so that it can be checked when the file before it is gone, and
        the number of the `oldest` line that was not dropped, where that is known.
        """
        number, before, inode, size = self
        follows = b"" if size and number else b'"previous":"%s",' % before.hex().encode()
        if oldest and not size:
            follows += b'"oldest":%d,' % oldest
        body = b'{"n":%d,%b%b' % (number + 1, follows, fields)
        digest = sha256(before + body).digest()
        line = b'%b%b%b"}\n' % (body, _SEAL, digest.hex().encode())
        return line, Head(number + 1, digest, inode, size + len(line))

    def in_file(self, status: os.stat_result) -> Head:
        """The same place in the chain, with the next line behind everything in this file."""
        return self._replace(inode=inode_of(status), size=status.st_size)

    def is_end_of(self, status: os.stat_result) -> bool:
        return self.inode == inode_of(status) and self.size == status.st_size


NOWHERE = Head(0, BEGINNING, 0, 0)


def inode_of(status: os.stat_result) -> int:
    """What a file is known by, as much of it as fits into a head: on some systems it is longer."""
    return status.st_ino % 2**64


def unpacked(text: bytes) -> Head | None:
    head = Head(*_PACKED.unpack(text)) if len(text) == PACKED_BYTES else None
    return head if head is not None and head.number < _MOST_LINES and head.size < _MOST_BYTES else None


class _Members(msgspec.Struct):
    n: int
    previous: str = ""
    oldest: int = 0
    outcome: str = ""
    unrecorded: int = 0


_members = msgspec.json.Decoder(_Members).decode


@dataclass(frozen=True, slots=True)
class Link:
    """A line of the chain as it was read, without its end of line."""

    line: bytes
    hash: bytes
    number: int
    # What a first line says it follows.
    previous: bytes | None
    # Which line it says is the first that rotation has not dropped; 0 where it does not say.
    oldest: int
    outcome: str
    unrecorded: int

    def follows(self, number: int, previous: bytes) -> bool:
        """Whether it comes right after the line with this number and hash, and is as it was written."""
        body = self.line[: len(self.line) - _SEAL_BYTES]
        return self.number == number + 1 and sha256(previous + body).digest() == self.hash


def read_link(line: bytes) -> Link | None:
    """A line of the chain; None where it is none, as lines that older versions wrote."""
    body, seal, digest = line[:-_SEAL_BYTES], line[-_SEAL_BYTES:-66], line[-66:-2]
    # In small letters, as we write it: what reads the same is not the same line.
    if seal != _SEAL or not body or digest != digest.lower():
        return None
    try:
        members = _members(line)
        previous = bytes.fromhex(members.previous) if members.previous else None
        if not 0 < members.n < _MOST_LINES:
            return None
        hash = bytes.fromhex(digest.decode())
        return Link(line, hash, members.n, previous, members.oldest, members.outcome, members.unrecorded)
    except (ValueError, RecursionError):  # what can't be decoded, and what is no hash
        return None


def last_link(lines: Iterable[bytes]) -> Link | None:
    """The last line of the chain among these, which come newest first."""
    return next((link for link in map(read_link, lines) if link is not None), None)

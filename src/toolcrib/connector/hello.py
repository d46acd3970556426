"""What a client's process tells the engine when it comes: who it is, where it stands, and what it wants."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

# Serve the client on the descriptors that come along; run a command for it; or a word about the engine itself.
STDIO, COMMAND, CONTROL = "stdio", "command", "control"
KINDS = (STDIO, COMMAND, CONTROL)
LENGTH_DIGITS = 8
MOST_BYTES = 2 * 1024 * 1024


class BadHello(Exception):
    """What came is not the greeting of a client of this version."""


class Hello:
    """Arguments, working directory and environment of the process that a client started."""

    __slots__ = ("arguments", "environment", "folder", "kind", "version")

    def __init__(
        self, kind: str, version: str, folder: str, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self.kind = kind
        self.version = version
        self.folder = folder
        self.arguments = list(arguments)
        self.environment = dict(environment)

    def encoded(self) -> bytes:
        """One frame: its length, then texts that end in a zero byte, which none of them can hold."""
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        texts = [self.kind, self.version, self.folder, str(len(self.arguments)), *self.arguments, *variables]
        body = b"\0".join(map(os.fsencode, texts))
        return b"%0*x" % (LENGTH_DIGITS, len(body)) + body

    @classmethod
    def decoded(cls, body: bytes) -> Hello:
        """The greeting in a frame without its length."""
        try:
            kind, version, folder, count, *rest = map(os.fsdecode, body.split(b"\0"))
            arguments, variables = rest[: int(count)], rest[int(count) :]
            environment = dict(text.split("=", 1) for text in variables)
        except ValueError:
            raise BadHello("the greeting can't be read") from None
        if kind not in KINDS or len(arguments) != int(count):
            raise BadHello("the greeting can't be read")
        return cls(kind, version, folder, arguments, environment)


def frame_length(head: bytes) -> int:
    """How many bytes follow the length of a frame; BadHello where it is none, or too long."""
    try:
        length = int(head, 16)
    except ValueError:
        raise BadHello("the greeting can't be read") from None
    if not 0 < length <= MOST_BYTES:
        raise BadHello("the greeting is too long")
    return length


def own_hello(kind: str, version: str, arguments: Sequence[str]) -> Hello:
    """The greeting of this process."""
    try:
        folder = os.getcwd()
    except OSError:  # deleted meanwhile
        folder = ""
    return Hello(kind, version, folder, arguments, os.environ)

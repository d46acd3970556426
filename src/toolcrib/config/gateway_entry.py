"""Recognise the gateway itself in a client's file: started from there it would start itself without end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import urlsplit

from toolcrib.config.bridges import program_name
from toolcrib.config.wrappers import started_by
from toolcrib.model.addresses import is_loopback_host
from toolcrib.model.server import BUILT_IN_SERVER, Launch, RemoteLaunch

_OUR_PACKAGE = re.compile(rf"{BUILT_IN_SERVER}(?:[\[@=<>~!].*)?")
_RUNNERS = ("uvx", "uv", "pipx")
_RUNNER_WORDS = ("tool", "run", "x")
_OPTIONS_WITH_A_VALUE = (
    "--from",
    "--spec",
    "--with",
    "--python",
    "-p",
    "--index",
    "--index-url",
    "--directory",
    "--project",
)
_PYTHON = re.compile(r"py(?:thon)?[0-9.]*w?")


@dataclass(frozen=True, slots=True)
class OwnAddress:
    """Where our own HTTP face listens on this machine."""

    port: int
    path: str


def is_gateway(launch: Launch, own: OwnAddress) -> bool:
    """Whether this launch would start or contact the gateway itself."""
    if isinstance(launch, RemoteLaunch):
        return _is_own_address(launch.url, own)
    return any(_is_gateway_command(words) for words in started_by((launch.command, *launch.args)))


def _is_gateway_command(words: tuple[str, ...]) -> bool:
    program, args = program_name(words[0]), words[1:]
    if program == BUILT_IN_SERVER:
        return True
    if program == "anygpt":
        return "mcp" in args
    if program not in _RUNNERS and not _PYTHON.fullmatch(program):
        return False
    return ("-m", BUILT_IN_SERVER) in pairwise(args) or any(_OUR_PACKAGE.fullmatch(name) for name in _packages(args))


def _packages(args: tuple[str, ...]) -> Iterator[str]:
    """What a runner such as uvx is asked to run: the value of --from, and the first word that is not an option."""
    words = iter(args)
    for word in words:
        if word in _OPTIONS_WITH_A_VALUE:
            value = next(words, "")
            if word in ("--from", "--spec"):
                yield value
        elif not word.startswith("-") and word not in _RUNNER_WORDS:
            yield program_name(word)
            return


def _is_own_address(url: str, own: OwnAddress) -> bool:
    try:
        parts = urlsplit(url)
        return (
            is_loopback_host(parts.hostname or "")
            and parts.port == own.port
            and parts.path.rstrip("/") == own.path.rstrip("/")
        )
    except ValueError:
        return False

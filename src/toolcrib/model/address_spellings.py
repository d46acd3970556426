"""How an address is written, and what servers may take it for: a rule holds for both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from unicodedata import normalize
from urllib.parse import unquote

_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//[^/?#]*)?([^?#]*)(.*)", re.DOTALL)
# What those who read addresses leave out: these anywhere, blanks and control characters at both ends.
_LEFT_OUT = re.compile(r"[\t\n\r]")
_AT_THE_ENDS = "".join(map(chr, range(0x21)))
_SLASHES = re.compile(r"/+")
# Addresses of these have a host, however many slashes are before it, and the port that they have anyway says nothing.
_USUAL_PORTS = {"http": ":80", "https": ":443", "ws": ":80", "wss": ":443", "ftp": ":21"}

_Parts = tuple[str, str, str, str]
"""(scheme, host with its two slashes, path, query and fragment)"""


def spellings(uri: str) -> tuple[str, ...]:
    """An address as it is written, and as it is meant where that differs: `file:///work/../etc/x` is `file:///etc/x`.

    Servers do not agree on what is meant. Some take an address apart before they decode it, some afterwards, some take all of
    it for a path, and for files `//` is `/`. So there may be several.
    """
    return tuple(dict.fromkeys((uri, *_meant(uri))))


def _meant(uri: str) -> Iterator[str]:
    cleaned = _LEFT_OUT.sub("", uri.strip(_AT_THE_ENDS))
    for scheme, host, path, rest in chain(_taken_apart(cleaned, unquote), _taken_apart(cleaned, _with_slashes)):
        yield f"{scheme}:{host}{_without_dots(path)}{rest}"
        if "//" in path:
            yield f"{scheme}:{host}{_without_dots(_SLASHES.sub('/', path))}{rest}"


def _taken_apart(uri: str, decode: Callable[[str], str]) -> Iterator[_Parts]:
    if (written := _PARTS.fullmatch(uri)) is not None:
        yield _usual(*map(decode, written.groups(default="")))
    if (read := _PARTS.fullmatch(decode(uri))) is not None:
        scheme, host, path, rest = read.groups(default="")
        yield _usual(scheme, host, path, rest)
        if "/." in rest:
            yield _usual(scheme, host, path + rest, "")


def _with_slashes(part: str) -> str:
    """Decoded as where a backslash is as good as a slash."""
    return unquote(part).replace("\\", "/")


def _usual(scheme: str, host: str, path: str, rest: str) -> _Parts:
    """The parts in their usual form: `file:/a` and `file://localhost/a` are `file:///a`, `http://me@Host:80` is `http://host/`."""
    scheme, host = scheme.lower(), normalize("NFKC", host).lower()
    if scheme == "file":
        return scheme, "//" if host in ("", "//localhost") else host, _from_root(path), rest
    if scheme not in _USUAL_PORTS:
        return scheme, host, path, rest
    if host in ("", "//"):
        host, _, path = path.lstrip("/").partition("/")
    name = host.lower().removeprefix("//").rpartition("@")[2].removesuffix(_USUAL_PORTS[scheme])
    return scheme, f"//{name.rstrip('.')}", _from_root(path), rest


def _from_root(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"


def _without_dots(path: str) -> str:
    if "/." not in path and not path.startswith("."):
        return path
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == ".." and len(kept) > 1:
            kept.pop()
        elif segment not in (".", ".."):
            kept.append(segment)
    is_folder = path.endswith(("/.", "/.."))
    return "/".join([*kept, ""] if is_folder else kept)

"""What each field of an entry may hold before it becomes part of a command line or an address."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from toolcrib.config.dangerous_variables import dangerous_variables
from toolcrib.registry.recipe import Refused

_LONGEST_IDENTIFIER = 255
_LONGEST_NAME = 128
_IDENTIFIERS = {
    "npm": re.compile(r"(?:@[A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*"),
    "pypi": re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"),
    "nuget": re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?"),
    "oci": re.compile(
        r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?/)?"  # host
        r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"  # path
        r"(?P<tag>:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?P<digest>@sha256:[0-9a-f]{64})?"
    ),
}
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]*")
_FLAG = re.compile(r"--?[A-Za-z0-9][A-Za-z0-9._-]*=?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# The domain of each kind's public home, in parts.
_HOMES = {"npm": ("npmjs", "org"), "pypi": ("pypi", "org"), "nuget": ("nuget", "org")}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def identifier(kind: str, text: str) -> str:
    """The name of a package or image, or a refusal."""
    if len(text) > _LONGEST_IDENTIFIER or not _IDENTIFIERS[kind].fullmatch(text):
        raise Refused(f"{shown(text)} is not the name of {_a_package(kind)}")
    return text


def has_tag(image: str) -> bool:
    """Whether an image reference says which build is meant."""
    match = _IDENTIFIERS["oci"].fullmatch(image)
    return match is not None and bool(match["tag"] or match["digest"])


def is_pinned(image: str) -> bool:
    """Whether an image reference will mean the same build next time."""
    match = _IDENTIFIERS["oci"].fullmatch(image)
    return match is not None and (bool(match["digest"]) or is_exact(match["tag"] or ""))


def version(text: str) -> str:
    """An exact version; empty where none is given or only the newest is meant."""
    if text in ("", "latest"):
        return ""
    if not _VERSION.fullmatch(text):
        raise Refused(f"{shown(text)} is not an exact version")
    return text


def is_exact(text: str) -> bool:
    """Whether a version stays what it is: `next`, `beta` and other names without a digit move on."""
    return any(map(str.isdigit, text))


def home_of(kind: str, base_url: str) -> None:
    """Refuse a package that would be fetched from anywhere but its kind's public home."""
    if not base_url:
        return
    host = _split(base_url).hostname or ""
    if tuple(host.split(".")[-2:]) != _HOMES.get(kind):
        raise Refused(f"its package comes from another source than usual: {shown(host or base_url)}")


def flag(text: str) -> str:
    """The name of a named argument, with its dashes."""
    if len(text) > _LONGEST_NAME or not _FLAG.fullmatch(text):
        raise Refused(f"{shown(text)} is not the name of an argument")
    return text


def variable(name: str, value: str | None) -> str:
    """The name of an environment variable that a server may ask for, or set to this value."""
    if len(name) > _LONGEST_NAME or not _VARIABLE.fullmatch(name):
        raise Refused(f"{shown(name)} is not the name of an environment variable")
    if dangerous_variables({name: value}):
        raise Refused(f"it wants to set {name}, which changes what programs load")
    return name


def header(name: str) -> str:
    """The name of an HTTP header."""
    if len(name) > _LONGEST_NAME or not _HEADER.fullmatch(name):
        raise Refused(f"{shown(name)} is not the name of an HTTP header")
    return name


def plain(text: str) -> str:
    """Text that may be one element of a command line, a header or an address."""
    if _CONTROL.search(text):
        raise Refused(f"{shown(text)} holds control characters")
    return text


def address(url: str) -> SplitResult:
    """An http or https address without a user name in it; placeholders were replaced before."""
    parts = _split(url)
    if parts.scheme not in ("http", "https"):
        raise Refused(f"{shown(url)} is not an http or https address")
    if not parts.hostname or parts.username is not None or re.search(r"[\s\\<>\"]", url):
        raise Refused(f"{shown(url)} is not a usable address")
    return parts


def is_plain_http(parts: SplitResult) -> bool:
    """Whether what is sent there could be read on the way."""
    return parts.scheme == "http" and parts.hostname not in _LOOPBACK


def sha256(text: str) -> str:
    if not _SHA256.fullmatch(text):
        raise Refused("it has no SHA-256 to check the download against")
    return text


def shown(text: str) -> str:
    """Foreign text inside a sentence of ours: short, and quoted so that it cannot pass for more."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(plain(url))
        _ = parts.port
    except ValueError:
        raise Refused(f"{shown(url)} is not an address") from None
    return parts


def _a_package(kind: str) -> str:
    return {"npm": "an npm package", "pypi": "a PyPI package", "nuget": "a NuGet package", "oci": "an image"}[kind]

"""Packages that a command fetches in whichever version is the newest: whoever publishes one can change what runs here."""

from __future__ import annotations

import re

from toolcrib.config.package_names import fetched_by
from toolcrib.model.server import Launch, StdioLaunch

_LOCAL = re.compile(r"[./~]|[A-Za-z]:[\\/]|file:")
_EXACT = re.compile(r"v?\d+(?:\.\d+)*(?:[-+.]?[0-9A-Za-z][0-9A-Za-z.+-]*)?")
_AN_X = re.compile(r"(?:^|\.)[xX*](?:\.|$)")
# A whole commit of a repository.
_COMMIT = re.compile(r"[@#][0-9a-f]{40}(?:#|$)")
_TWO_NUMBERS = re.compile(r"v?\d+\.\d+")


def unpinned_packages(launch: Launch) -> list[str]:
    """The packages and images of a command without an exact version, as they are written."""
    if not isinstance(launch, StdioLaunch):
        return []
    found = fetched_by((launch.command, *launch.args))
    return [name for name, is_image in found if not (_is_pinned_image if is_image else _is_pinned)(name)]


def _is_pinned(package: str) -> bool:
    if _LOCAL.match(package):
        return True
    if "://" in package or package.startswith(("git+", "github:")):
        return _COMMIT.search(package) is not None
    version = re.split(r"(?<=.)(?:===?|@)", package.removeprefix("npm:"), maxsplit=1)[1:]
    return bool(version) and _EXACT.fullmatch(version[0]) is not None and not _AN_X.search(version[0])


def _is_pinned_image(image: str) -> bool:
    if "@sha256:" in image:
        return True
    _, _, tag = image.rpartition("/")[2].partition(":")
    return _TWO_NUMBERS.match(tag) is not None

"""Which options of a runtime an entry may set; everything else is refused, since options can run or fetch other code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from toolcrib.registry.arguments import Piece
from toolcrib.registry.grammar import shown
from toolcrib.registry.recipe import Refused

# Each option with whether it takes a value.
_NPX = {"-y": False, "--yes": False, "-q": False, "--quiet": False, "--prefer-offline": False}
_UVX = {
    "-q": False,
    "--quiet": False,
    "--refresh": False,
    "--offline": False,
    "--isolated": False,
    "-p": True,
    "--python": True,
    "--prerelease": True,
    "--with": True,
}
_DNX = {"-y": False, "--yes": False, "--prerelease": False, "-v": True, "--verbosity": True}
_VALUE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._\[\],=<>~!-]*[A-Za-z0-9\]])?")


def npx_options(found: Iterable[Piece]) -> list[str]:
    """Options of npx without the `-y` that is always set."""
    return _allowed("npx", found, _NPX, dropped=("-y", "--yes"))


def uvx_options(found: Iterable[Piece]) -> list[str]:
    return _allowed("uvx", found, _UVX)


def dnx_options(found: Iterable[Piece]) -> list[str]:
    """Options of dnx without the `--yes` that is always set."""
    return _allowed("dnx", found, _DNX, dropped=("-y", "--yes"))


def _allowed(
    runtime: str, found: Iterable[Piece], table: Mapping[str, bool], dropped: tuple[str, ...] = ()
) -> list[str]:
    kept: list[str] = []
    for piece in found:
        name = piece.flag.removesuffix("=") or piece.value or ""
        if name in dropped:
            continue
        has_value = bool(piece.flag) and piece.value is not None
        if table.get(name) is not has_value:
            raise Refused(f"{shown(name)} is not an option of {runtime} that an entry may set")
        if has_value and not _VALUE.fullmatch(piece.value or ""):
            raise Refused(f"the value of {name} is not one that {runtime} may be given")
        kept += piece.words
    return kept

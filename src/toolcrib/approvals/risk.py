"""How much harm a proposed server could do, as far as its launch and its tools tell: a help for whoever decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolcrib.approvals.change import Change
from toolcrib.config.package_versions import unpinned_packages
from toolcrib.model.effect import says_it_destroys
from toolcrib.model.peer import peer_id_of
from toolcrib.model.server import Launch, RemoteLaunch

Level = Literal["low", "medium", "high", "critical"]

_WORDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("administration", frozenset("admin administrator root sudo".split())),
    ("money", frozenset("payment payments billing invoice refund charge".split())),
    ("credentials", frozenset("auth credential credentials password passwords secret secrets token tokens".split())),
    ("databases or deletion", frozenset("database databases delete drop truncate purge erase".split())),
    ("personal data", frozenset("pii gdpr".split())),
)
_NAMED_TOOLS = 3
# `${$}` is a plain `$`.
_VARIABLE = re.compile(r"\$\{(?!\$\})([^}]*)\}")
_SHELL_MARK = re.compile(r"[;&|<>`]|\$\(")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True, slots=True)
class Risk:
    """A level and the reasons for it."""

    level: Level = "medium"
    reasons: tuple[str, ...] = ()


def assess(launch: Launch, definitions: Iterable[Mapping[str, Any]]) -> Risk:
    """Medium for anything unknown; higher where it runs here, is not encrypted, was never read, or its tools can harm."""
    known = list(definitions)
    reasons = [*_of_launch(launch), *_of_tools(known)]
    if not known:
        reasons.append("its tools are not known yet")
    # A value in an address is in the logs of everybody on the way.
    is_high = not isinstance(launch, RemoteLaunch) or len(reasons) > 1 or "${" in launch.url
    return Risk("high" if is_high and reasons else "medium", ("nobody has vouched for it", *reasons))


def assess_changes(changes: Iterable[Change]) -> Risk:
    """Of a server that a person uses already only what changed counts: it is high where that looks hostile or can harm."""
    known = list(changes)
    hostile = [change.name or "what it says of itself" for change in known if change.verdict == "hostile"]
    reasons = [*_of_tools([change.now for change in known if change.kind == "tool"])]
    if hostile:
        reasons.insert(0, f"it looks hostile: {_few(hostile)}")
    is_first_sight = bool(known) and not any(change.before or change.renamed_from for change in known)
    why = "nobody has agreed to it" if is_first_sight else "what it offers is not what you agreed to"
    return Risk("high" if reasons else "medium", (why, *reasons))


def _of_launch(launch: Launch) -> Iterator[str]:
    if not isinstance(launch, RemoteLaunch):
        yield "it runs a program on this machine, with your rights"
        if marks := sorted({mark for word in (launch.command, *launch.args) for mark in _SHELL_MARK.findall(word)}):
            quoted = ", ".join(f'"{mark}"' for mark in marks)
            yield f"its command line has characters that a shell acts on: {quoted}"
        for package in unpinned_packages(launch):
            yield f"{package} has no exact version: whoever publishes it can change later what runs here"
    elif peer_id_of(launch.url) is not None:
        yield "it is a program on another machine of your network"
    elif not launch.url.startswith("https:"):
        yield "its address is not encrypted"
    passed = () if isinstance(launch, RemoteLaunch) else launch.pass_env
    for name in sorted({*passed, *(name for text in _given(launch) for name in _VARIABLE.findall(text))}):
        yield f"it would be given the value of {name}"
    if not isinstance(launch, RemoteLaunch) and launch.env_file:
        yield f"it would be given what is in {launch.env_file}"


def _given(launch: Launch) -> tuple[str, ...]:
    """All texts of a launch in which variables are replaced by their values."""
    if isinstance(launch, RemoteLaunch):
        return (launch.url, *launch.headers.values())
    return (launch.command, *launch.args, *launch.env.values(), launch.env_file or "", launch.cwd or "")


def _of_tools(definitions: list[Mapping[str, Any]]) -> Iterator[str]:
    destructive = [str(one.get("name")) for one in definitions if says_it_destroys(_hints(one))]
    if destructive:
        yield f"its server marks tools as destructive: {_few(destructive)}"
    for subject, words in _WORDS:
        named = [name for one in definitions if words & _words(name := str(one.get("name")))]
        if named:
            yield f"tools that have to do with {subject}: {_few(named)}"


def _hints(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    hints = definition.get("annotations")
    return hints if isinstance(hints, Mapping) else {}


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED_TOOLS} more" if len(names) > _NAMED_TOOLS else ""
    return ", ".join(names[:_NAMED_TOOLS]) + more

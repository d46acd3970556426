"""Judging readings by what was agreed to, and asking a person about the rest; loaded with the first reading."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from typing import Any

from toolcrib.approvals.approvals import Approvals
from toolcrib.approvals.change import Change, Verdict
from toolcrib.approvals.change_requests import AGREED, REFUSED, ask_about
from toolcrib.approvals.changes import Others, Scanner, judge, pins_of_older, with_pins
from toolcrib.approvals.events import Event, Tell
from toolcrib.catalog.judged import FoundBefore
from toolcrib.errors import ToolcribError
from toolcrib.model.clean_text import clean
from toolcrib.model.finding import Finding, bare_name
from toolcrib.model.peer import FROM_PEER
from toolcrib.model.pin import Judged, Pins
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import OnChange, ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.scanner.beside import KnownNames
from toolcrib.scanner.version import VERSION
from toolcrib.trust.review_key import review_key

log = logging.getLogger(__name__)

NAMED_CHANGES = 3


def _scan(definition: Mapping[str, Any]) -> tuple[Finding, ...]:
    # Loaded with the first definition, in the thread that judges: it has hundreds of patterns to prepare.
    found: tuple[Finding, ...] = import_module("toolcrib.scanner.scan").scan(definition)
    return found


SCANNER = Scanner(VERSION, _scan)
NO_SCANNER = Scanner()
_LEVELS: Sequence[tuple[Verdict, int]] = (("cosmetic", logging.INFO), ("warned", logging.WARNING))


@dataclass(frozen=True, slots=True)
class ReviewParts:
    """What the judging of all readings has in common; `approvals` opens the queue, off the event loop."""

    approvals: Callable[[], Approvals]
    tell: Tell
    # Has servers read again, by launch key.
    expire: Callable[[Iterable[str]], None]


class ReviewedReading:
    """Judges one reading of a server, and says afterwards what became of it."""

    def __init__(
        self,
        spec: ServerSpec,
        on_change: OnChange,
        parts: ReviewParts,
        *,
        scanner: Scanner,
        tools: Mapping[str, Sequence[Tool]],
    ) -> None:
        self._spec = spec
        self._on_change = on_change
        self._parts = parts
        self._scanner = scanner
        # Those of all servers in use, by launch key.
        self._tools = tools
        self._changes: tuple[Change, ...] = ()
        self._was_pinned = False
        self._concerned: list[str] = []

    @cached_property
    def review_key(self) -> str:
        # Peers have pins of their own, which come from their cards.
        return "" if self._spec.origin.source == FROM_PEER else review_key(self._spec)

    def __call__(
        self, reading: ServerReading, pins: Pins, known: Sequence[Tool], found_before: FoundBefore, at: float
    ) -> Judged:
        older = pins_of_older(known, at)
        before = with_pins(pins, older)
        self._was_pinned = bool(before.kinds)
        others = Others(self._spec.launch_key, cache(lambda: self._known_names(reading)), found_before)
        judged, self._changes = judge(
            reading,
            before,
            on_change=self._on_change,
            takes_cosmetic=self._spec.is_configured_by_user,
            scanner=self._scanner,
            at=at,
            others=others,
        )
        self._concerned = self._concerned_by(reading, found_before)
        return replace(judged, add=(*older, *judged.add))

    def _concerned_by(self, reading: ServerReading, found_before: FoundBefore) -> list[str]:
        """The other servers that say something about a tool which comes with this reading: they are judged anew."""
        known = {tool.name for tool in self._tools.get(self._spec.launch_key, ())}
        new = {bare_name(name) for name in _names(reading) if name not in known}
        about = {key for key, found in found_before.items() if any(one.is_latent and one.about in new for one in found)}
        if not about:
            return []
        others = ((key, tools) for key, tools in self._tools.items() if key != self._spec.launch_key)
        return [key for key, tools in others if any(tool.fingerprint in about for tool in tools)]

    def _known_names(self, reading: ServerReading) -> KnownNames:
        names = {key: [tool.name for tool in tools] for key, tools in self._tools.items()}
        return KnownNames.of({**names, self._spec.launch_key: _names(reading)})

    async def follow_up(self) -> None:
        """Ask a person about what waits, and write down what is used although it changed."""
        if self._concerned:
            await asyncio.to_thread(self._parts.expire, self._concerned)
        self._say_what_is_odd()
        waiting = [change for change in self._changes if change.waits]
        if not waiting and not self._was_pinned:
            return
        try:
            await asyncio.to_thread(self._ask, waiting)
        except ToolcribError as trouble:
            # It waits all the same, and the next reading asks anew.
            log.warning("%s: nobody can be asked about its changes: %s", self._spec.name, trouble.message)
        for verdict, level in _LEVELS:
            self._say(
                [one for one in self._changes if one.verdict == verdict and _is_worth_a_line(one)], verdict, level
            )

    def _ask(self, waiting: Sequence[Change]) -> None:
        if not self.review_key:
            return
        done = REFUSED if any(change.verdict == "refused" for change in self._changes) else AGREED
        asked = ask_about(self._parts.approvals(), self._spec, self.review_key, waiting, done)
        if asked is not None:
            log.warning("%s: waits for review: %s; see `toolcrib approvals`", self._spec.name, _named(waiting))

    def _say_what_is_odd(self) -> None:
        odd = [change for change in self._changes if change.findings and not change.waits]
        if odd:
            named = ("%s: is used, though something in it is odd: %s; `toolcrib doctor` says what", self._spec.name)
            log.warning(*named, _named(odd))

    def _say(self, taken: Sequence[Change], verdict: Verdict, level: int) -> None:
        if taken:
            log.log(level, "%s: changed, and is used as it is now (%s): %s", self._spec.name, verdict, _named(taken))
        for change in taken:
            self._parts.tell(Event("definition_accepted", time.time(), verdict, self._spec.name, change.name))


def _names(reading: ServerReading) -> list[str]:
    return [str(definition.get("name", "")) for definition in reading.tools]


def _is_worth_a_line(change: Change) -> bool:
    # Files and notes are written to all day, and each reading would fill the logs.
    return change.kind != "resource" or change.verdict != "cosmetic"


def _named(changes: Sequence[Change]) -> str:
    names = [clean(change.name or "what it says of itself") for change in changes]
    more = f" and {len(names) - NAMED_CHANGES} more" if len(names) > NAMED_CHANGES else ""
    return ", ".join(names[:NAMED_CHANGES]) + more

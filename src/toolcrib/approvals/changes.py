"""What a reading comes to by what was agreed to before: what is the same, what may go on, and what waits for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import msgspec

from toolcrib.approvals.change import Change, Verdict
from toolcrib.model.effect import EFFECTS
from toolcrib.model.finding import Finding
from toolcrib.model.items import name_on_server
from toolcrib.model.pin import Judged, Pin, PinKey, PinnedKind, Pins
from toolcrib.model.reading import ServerReading
from toolcrib.model.server import OnChange
from toolcrib.model.tool import Tool
from toolcrib.scanner.beside import KnownNames, beside
from toolcrib.topics.harmless import refusal
from toolcrib.trust.canonical import Offered, everything_offered, offered
from toolcrib.trust.cosmetic import is_cosmetic
from toolcrib.trust.renames import renamed

_PINNED_BY: Mapping[Verdict, str] = {"first": "first reading", "cosmetic": "cosmetic", "warned": "warn"}
_ALL_KINDS: frozenset[PinnedKind] = frozenset({"server", "tool", "prompt", "resource", "template"})


def _finds_nothing(_: Mapping[str, Any]) -> tuple[Finding, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Scanner:
    """Whoever looks through definitions; another `version` may find something else in the same ones."""

    version: int = 0
    scan: Callable[[Mapping[str, Any]], tuple[Finding, ...]] = _finds_nothing


@dataclass(frozen=True, slots=True)
class Others:
    """Who else is there, for findings that depend on it; and what was found in the same definitions before."""

    server: str = ""
    names: Callable[[], KnownNames] = lambda: KnownNames({})
    found_before: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)

    def awake(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        return tuple(beside(self.server, findings, self.names))


NO_OTHERS = Others()


def judge(
    reading: ServerReading,
    pins: Pins,
    *,
    on_change: OnChange,
    takes_cosmetic: bool,
    scanner: Scanner,
    at: float,
    others: Others = NO_OTHERS,
) -> tuple[Judged, tuple[Change, ...]]:
    """What is to be saved with a reading, and each thing in it that differs from what was agreed to.

    With `takes_cosmetic` nobody is asked about what changes no meaning.
    """
    found = everything_offered(reading)
    rescans = pins.scanner != scanner.version
    findings: dict[str, tuple[Finding, ...]] = {}
    changes: list[Change] = []
    for one in found.values():
        pin = pins.agreed(one.key, one.fingerprint)
        if rescans or pin is None:
            findings[one.fingerprint] = scanner.scan(one.definition)
        found_in_it = findings.get(one.fingerprint, others.found_before.get(one.fingerprint, ()))
        awake = others.awake(found_in_it)
        verdict = _verdict(one, pins, awake, on_change, takes_cosmetic=takes_cosmetic)
        if verdict != "same":
            changes.append(_change(one, pin or pins.pins.get(one.key), verdict, awake))
    judged = Judged(
        pins.review_key,
        pins.revision,
        add=tuple(_pin(change, found, at) for change in changes if change.verdict in _PINNED_BY),
        findings=findings,
        kinds=_ALL_KINDS - frozenset(reading.unlisted),
        scanner=scanner.version,
    )
    return judged, tuple(_with_former_names(changes, pins, found))


def pins_of_older(known: Iterable[Tool], at: float) -> tuple[Pin, ...]:
    """What a server offered before there were pins: it is taken as agreed to, so that nothing stops with an upgrade."""
    return tuple(_older(tool, at) for tool in known)


def with_pins(pins: Pins, more: Sequence[Pin]) -> Pins:
    """The pins with others beside them."""
    kinds: frozenset[PinnedKind] = frozenset(pin.kind for pin in more)
    # What was never listed before the upgrade is not new but read for the first time.
    added = {(pin.kind, pin.name): pin for pin in more}
    return replace(pins, pins={**pins.pins, **added}, kinds=pins.kinds | kinds)


def _change(one: Offered, pin: Pin | None, verdict: Verdict, findings: tuple[Finding, ...]) -> Change:
    before = "" if pin is None else pin.definition
    return Change(one.kind, one.name, verdict, one.fingerprint, one.definition, before, findings)


def _verdict(
    one: Offered, pins: Pins, findings: tuple[Finding, ...], on_change: OnChange, *, takes_cosmetic: bool
) -> Verdict:
    is_hostile = any(finding.is_hard for finding in findings)
    if (agreed := pins.agreed(one.key, one.fingerprint)) is not None:
        # What a person has agreed to as it is stays so, whatever a newer scanner thinks of it.
        return "hostile" if is_hostile and not agreed.is_by_person else "same"
    if one.fingerprint in pins.refused:
        return "refused"
    if is_hostile:
        return "hostile"
    newest = pins.pins.get(one.key)
    if newest is None:
        return _of_unknown(one, pins, on_change)
    if takes_cosmetic and not findings and _is_cosmetic(newest, one):
        return "cosmetic"
    return "warned" if on_change == "warn" else "changed"


def _is_cosmetic(pin: Pin, one: Offered) -> bool:
    return is_cosmetic(one.kind, pin.definition, one.definition) and not _claims_less(pin, one)


def _of_unknown(one: Offered, pins: Pins, on_change: OnChange) -> Verdict:
    # Resources are what a server has, not what it can do: notes, files and rows come and go all day.
    if one.kind not in pins.kinds or one.kind == "resource":
        return "first"
    return "warned" if on_change == "warn" else "new"


def _claims_less(pin: Pin, one: Offered) -> bool:
    """Whether a tool says that it does less harm than before: whoever asks first for what does harm would ask no more."""
    if one.kind != "tool":
        return False
    before = Tool("", pin.name, msgspec.json.decode(pin.definition, type=dict[str, Any]))
    now = Tool("", one.name, one.definition)
    return EFFECTS.index(now.effect) < EFFECTS.index(before.effect) or (not refusal(now) and bool(refusal(before)))


def _pin(change: Change, found: Mapping[PinKey, Offered], at: float) -> Pin:
    one = found[change.kind, change.name]
    # What was agreed to stays what later changes are compared with: many small ones in a row are a large one.
    agreed = change.before if change.verdict == "cosmetic" else one.text
    return Pin(one.kind, one.name, one.fingerprint, _PINNED_BY[change.verdict], at, agreed)


def _with_former_names(changes: Sequence[Change], pins: Pins, found: Mapping[PinKey, Offered]) -> Iterator[Change]:
    gone = [pins.of(key) for key in pins.pins if key not in found]
    # The newest of each name first: not all may be compared. The server may have gone back to an earlier one.
    in_order = chain((newest for newest, *_ in gone), (pin for _, *earlier in gone for pin in earlier))
    new = ((change.key, change.now) for change in changes if change.verdict == "new")
    former = dict(renamed(new, in_order)) if gone else {}
    for change in changes:
        pin = former.get(change.key)
        # With what it was, so that a person sees each word that is another one now.
        yield change if pin is None else replace(change, renamed_from=pin.name, before=pin.definition)


def _older(tool: Tool, at: float) -> Pin:
    one = offered(tool.kind, name_on_server(tool.kind, tool.name), tool.definition)
    return Pin(tool.kind, one.name, tool.fingerprint, "upgrade", at, one.text)

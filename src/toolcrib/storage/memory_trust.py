"""What was agreed to of servers, in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from toolcrib.catalog.store import PinsKept, PinsMoved
from toolcrib.model.finding import Finding
from toolcrib.model.pin import Judged, Pin, PinKey, PinnedKind, Pins
from toolcrib.trust.canonical import mends


class MemoryTrust:
    """The part of a catalog in memory that has to do with pins; whoever has it sees to the lock."""

    def __init__(self, kept: PinsKept) -> None:
        self._kept = kept
        self._pins: dict[str, Pins] = {}
        self._met_at: dict[str, float] = {}
        self.findings: dict[str, tuple[Finding, ...]] = {}

    def pins(self, review_key: str) -> Pins:
        return self._pins.get(review_key) or Pins(review_key)

    def revision(self, review_key: str) -> int:
        return self.pins(review_key).revision

    def save(self, judged: Judged, at: float) -> None:
        known = self.pins(judged.review_key)
        if known.revision != judged.was_revision:
            raise PinsMoved
        kinds = known.kinds | judged.kinds
        if judged.review_key and (judged.add or kinds != known.kinds or judged.scanner != known.scanner):
            self._keep(replace(known, kinds=kinds, scanner=judged.scanner), judged.add)
        if judged.review_key in self._pins:
            self._met_at[judged.review_key] = at
        for fingerprint, found in judged.findings.items():
            self.findings.pop(fingerprint, None)
            if found:
                self.findings[fingerprint] = found

    def decide(self, review_key: str, add: Sequence[Pin], refuse: Iterable[str], at: float) -> None:
        known, refused = self.pins(review_key), frozenset(refuse)
        left = {key: [pin for pin in known.of(key) if not _is_refused(pin, refused)] for key in known.pins}
        agreed = {pin.fingerprint for pin in add}
        self._met_at[review_key] = at
        self._keep(
            replace(
                known,
                kinds=known.kinds | {pin.kind for pin in add},
                pins={key: pins[0] for key, pins in left.items() if pins},
                earlier={key: tuple(pins[1:]) for key, pins in left.items() if len(pins) > 1},
                refused=(known.refused | refused) - agreed,
            ),
            add,
        )

    def forget_unmet(self, now: float, still_known: Collection[str]) -> None:
        """What nobody has met for long, but for what is `still_known` and what a person decided."""
        newest_first = sorted(self._met_at, key=lambda key: self._met_at[key], reverse=True)
        for number, key in enumerate(newest_first):
            is_old = number >= self._kept.most or self._met_at[key] < now - self._kept.unmet_seconds
            if is_old and key not in still_known and not _is_decided(self._pins[key]):
                del self._met_at[key]
                self._forget(key)

    def _forget(self, review_key: str) -> None:
        known = self._pins.pop(review_key)
        if known.refused:  # a no is never forgotten
            self._pins[review_key] = Pins(review_key, refused=known.refused)

    def _keep(self, known: Pins, add: Iterable[Pin]) -> None:
        pins, earlier = dict(known.pins), dict(known.earlier)
        for pin in add:
            before = [one for one in known.of(pin.key) if not _takes_the_place_of(pin, one)]
            pins.pop(pin.key, None)  # so that it comes last
            pins[pin.key], earlier[pin.key] = pin, tuple(before[: self._kept.most_of_a_name - 1])
        for key in self._too_many(pins):
            del pins[key]
        earlier = {key: before for key, before in earlier.items() if before and key in pins}
        self._pins[known.review_key] = replace(known, revision=known.revision + 1, pins=pins, earlier=earlier)

    def _too_many(self, pins: Iterable[PinKey]) -> list[PinKey]:
        """The oldest names of each kind, where there are too many."""
        of_kinds: dict[PinnedKind, list[PinKey]] = {}
        for key in pins:
            of_kinds.setdefault(key[0], []).append(key)
        return [key for keys in of_kinds.values() for key in keys[: -self._kept.most_of_a_kind]]


def _is_decided(pins: Pins) -> bool:
    return any(pin.is_by_person for key in pins.pins for pin in pins.of(key))


def _is_refused(pin: Pin, refused: Collection[str]) -> bool:
    return pin.fingerprint in refused or mends(pin, refused)


def _takes_the_place_of(pin: Pin, before: Pin) -> bool:
    # Many typos in a row count as one, so that they push nothing else out.
    return pin.fingerprint == before.fingerprint or (pin.is_cosmetic and before.is_cosmetic)

"""What somebody agreed to: the definitions of a server, each by its fingerprint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from toolcrib.model.finding import Finding
from toolcrib.model.items import ItemKind

# "server" stands for what a server says of itself (name, title, description, instructions); the name of its pin is empty.
PinnedKind = ItemKind | Literal["server"]
PinKey = tuple[PinnedKind, str]
# What agents or people are shown of `serverInfo`; the version moves with every release.
SERVER_WORDS = ("name", "title", "description")


@dataclass(frozen=True, slots=True)
class Pin:
    """One definition that was agreed to, under the server's own name for it.

    `by` is "first reading", "cosmetic", "upgrade", "warn", or "person:" and who it was. `definition` is its canonical JSON,
    kept for a comparison with what comes later; empty where it was not loaded.
    """

    kind: PinnedKind
    name: str
    fingerprint: str
    by: str
    at: float
    definition: str = ""

    @property
    def key(self) -> PinKey:
        return self.kind, self.name

    @property
    def is_by_person(self) -> bool:
        return self.by.startswith("person:")

    @property
    def is_cosmetic(self) -> bool:
        return self.by == "cosmetic"


@dataclass(frozen=True, slots=True)
class Pins:
    """All that was agreed to of one server as it is started; `revision` grows with each change of it.

    `pins` has what was agreed to last of each name. What was agreed to before it stays agreed to, and is in `earlier`, newest
    first.
    `refused` are the fingerprints to which a person said no. `kinds` are those of which a list was agreed to, even where it
    was empty: what comes later is new. `scanner` is the version of the scanner that last looked at all of them.
    """

    review_key: str
    revision: int = 0
    pins: Mapping[PinKey, Pin] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    kinds: frozenset[PinnedKind] = frozenset()
    scanner: int = 0
    earlier: Mapping[PinKey, tuple[Pin, ...]] = field(default_factory=dict)

    def of(self, key: PinKey) -> tuple[Pin, ...]:
        """All that was agreed to of one name, newest first."""
        newest = self.pins.get(key)
        return () if newest is None else (newest, *self.earlier.get(key, ()))

    def agreed(self, key: PinKey, fingerprint: str) -> Pin | None:
        """How exactly this definition was agreed to, if it was."""
        return next((pin for pin in self.of(key) if pin.fingerprint == fingerprint), None)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a reading comes to; kept together with it, all or nothing.

    `add` comes before the pins of the same kind and name; `was_revision` is that of the pins it was judged by.
    `findings` are by fingerprint, of all that was looked at: those of which nothing is found have none. `kinds` and `scanner`
    are as in `Pins`.
    """

    review_key: str
    was_revision: int
    add: tuple[Pin, ...] = ()
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    kinds: frozenset[PinnedKind] = frozenset()
    scanner: int = 0

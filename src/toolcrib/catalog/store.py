"""What the catalog remembers of servers, tools and running gateways, and what any store of it must offer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from toolcrib.model.asking import QuestionKind
from toolcrib.model.finding import Finding
from toolcrib.model.learnt import LearntShape
from toolcrib.model.pin import Judged, Pin, Pins
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.tool import Tool

# The clients that use each server, by launch key: names with the number of sessions.
Users = Mapping[str, Mapping[str, int]]
NO_USERS: Users = MappingProxyType({})
# So many launches of one name, the newest first, are kept after they left every configuration.
LAUNCHES_KEPT = 3


@dataclass(frozen=True, slots=True)
class PinsKept:
    """How long what was agreed to of a server stays once no configuration has it: until it was not met for so long, or so
    many others were met since.

    What a person decided stays for ever, and so does what the catalog still knows a launch of: whatever is forgotten would be
    taken on trust once more.
    """

    unmet_seconds: float = 365 * 86_400.0
    most: int = 10_000
    # Of one name, the newest first: a server may go back to any of these.
    most_of_a_name: int = 5
    # Of one server. Resources come and go all day, and each is pinned.
    most_of_a_kind: int = 20_000


class PinsMoved(Exception):
    """What a reading was judged by is no longer what is there: it has to be judged again."""


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """One launch of a server as last seen, under the name it had then; times are unix seconds, and `read_at` is None where
    it was never read. What is `expired` counts as old, however young it is.

    `failures` counts the readings that failed since the last one that did not; `error`, `error_at` and `error_code` are
    those of the last failure. `asks` are the kinds of questions that it was seen asking without saying for which call.
    `review_key` leads to what was agreed to of it, and is empty where it was read before anybody was asked;
    `pins_revision` differs after each change of that.
    """

    name: str
    launch_key: str
    identity: Identity | None
    read_at: float | None
    ttl_seconds: float | None
    error: str = ""
    error_at: float | None = None
    stale: bool = False
    tool_count: int = 0
    failures: int = 0
    error_code: str = ""
    expired: bool = False
    asks: frozenset[QuestionKind] = frozenset()
    item_count: int = 0
    review_key: str = ""
    pins_revision: int = 0


@dataclass(frozen=True, slots=True)
class GatewayRow:
    """A gateway that shares this catalog; `statuses` is its own view, launch key to status, and `users` who calls there.

    `started_with` are the settings, by key, that it keeps until it is started again.
    """

    owner: str
    pid: int
    face: str
    started_at: float
    seen_at: float
    statuses: Mapping[str, str] = field(default_factory=dict)
    started_with: Mapping[str, Any] = field(default_factory=dict)
    users: Users = field(default_factory=dict)


class CatalogStore(Protocol):
    """The catalog on some medium, shared by several gateways and usable from several threads.

    Every method may raise `StoreUnavailable`; a write that raised it changed nothing.
    """

    def servers(self) -> dict[str, ServerRecord]:
        """Every known server by its launch key, in the order of names."""

    def tools(self, launch_key: str) -> list[Tool]:
        """The tools of one server in the server's own order; empty where the server is unknown."""

    def items(self, launch_key: str) -> list[Tool]:
        """The prompts, resources and templates of one server, each kind in the server's own order."""

    def all_tools(self) -> list[Tool]:
        """The tools of all servers, by server name, then in the server's own order."""

    def save_reading(
        self, server: str, launch_key: str, reading: ServerReading, read_at: float, judged: Judged | None = None
    ) -> bool:
        """Replace what is known of a server, with what it was judged to be, all or nothing; True when its definitions changed.

        Raises `PinsMoved`, and changes nothing, where the pins are no longer those that it was judged by.

        Clears its error, its staleness and its expiry. Entries without a name and repeated names are left out, the first
        one stays. Of former launches under this name that left every configuration only the last few are kept; what was
        agreed to of the others stays as long as `PinsKept` says.
        """

    def record_failure(self, server: str, launch_key: str, error: str, at: float, code: str = "") -> None:
        """Remember why a server could not be read, and count it; its tools stay."""

    def note_asks(self, server: str, launch_key: str, kinds: Iterable[QuestionKind]) -> None:
        """Remember that a server asks these kinds of questions, beside those that are known of it."""

    def mark_stale(self, launch_keys: Iterable[str], *, stale: bool = True) -> None:
        """Mark servers as gone from the configuration (or, with `stale=False`, as back); unknown ones are ignored."""

    def expire(self, launch_keys: Iterable[str]) -> None:
        """Let what was read of servers count as old until they are read again; unknown ones are ignored."""

    def forget(self, launch_key: str) -> None:
        """Remove a server and its tools; what was agreed to of it stays."""

    def pins(self, review_key: str, *, with_definitions: bool = False) -> Pins:
        """What was agreed to of a server; the words that it says of itself have their definition in any case."""

    def decide_pins(
        self,
        review_key: str,
        server: str,
        *,
        add: Sequence[Pin] = (),
        refuse: Iterable[str] = (),
        by: str,
        at: float,
    ) -> None:
        """Write down what a person agreed to and what not; pins with a refused fingerprint go, with their cosmetic changes.

        Whoever agrees to a fingerprint that was refused before takes that back.
        """

    def findings(self) -> dict[str, tuple[Finding, ...]]:
        """What was found in definitions, by their fingerprints."""

    def change_token(self) -> int:
        """A number that differs after any gateway changed a server or a tool; cheap enough to ask often."""

    def vectors(self, encoder: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Those of the texts' vectors that are known, by the hash of the text."""

    def save_vectors(self, encoder: str, vectors: Mapping[bytes, bytes]) -> None:
        """Keep vectors; those of other encoders may be dropped."""

    def learnt_shape(self, launch_key: str, tool: str) -> LearntShape | None:
        """What was learnt of a tool's results under its present definition; `tool` is the server's own name for it."""

    def learnt_shapes(self, launch_key: str) -> dict[str, LearntShape]:
        """What was learnt of the results of a server's tools, by the server's own names for them."""

    def save_shape(self, shape: LearntShape) -> None:
        """Keep what was learnt, unless more results than these are known of already.

        Nothing is kept for a tool that is not in the catalog with this definition; a tool that goes or whose
        definition changes takes what was learnt of it along.
        """

    def try_lease(self, launch_key: str, owner: str, now: float, seconds: float) -> bool:
        """Take or renew the right to refresh a server; False while another owner's lease runs."""

    def release_lease(self, launch_key: str, owner: str) -> None:
        """Give a lease back; another owner's lease is left alone."""

    def gateway_started(self, row: GatewayRow) -> None:
        """Enter a gateway, replacing an entry of the same owner."""

    def gateway_seen(self, owner: str, at: float, statuses: Mapping[str, str], users: Users = NO_USERS) -> None:
        """Note that a gateway is alive, how it sees its servers and who uses them; an unknown owner is ignored."""

    def gateway_gone(self, owner: str) -> None:
        """Remove a gateway and its leases."""

    def gateways(self) -> list[GatewayRow]:
        """The gateways entered, oldest first; a killed one stays until someone calls `gateway_gone` for it."""

    def close(self) -> None:
        """Let go of the medium; closing twice is harmless."""

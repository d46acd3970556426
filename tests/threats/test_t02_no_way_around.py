"""T2: whatever servers, persons, restarts and other processes do: what can be called is what somebody agreed to."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.fakes import spec, tool
from toolcrib.approvals.approvals import Approvals
from toolcrib.approvals.changes import Scanner
from toolcrib.approvals.events import nobody
from toolcrib.approvals.proposal import Proposal
from toolcrib.catalog.catalog import Catalog
from toolcrib.catalog.judged import save_judged
from toolcrib.engine.change_review import ChangeReview
from toolcrib.engine.reading_review import ReviewedReading, ReviewParts
from toolcrib.errors import ApprovalRefused
from toolcrib.model.finding import Finding
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.server import OnChange
from toolcrib.model.tool import Tool
from toolcrib.rules.rulebook import RuleBook
from toolcrib.storage.sqlite import SqliteCatalog
from toolcrib.storage.sqlite_capabilities import SqliteCapabilities
from toolcrib.workspace.catalog_view import CatalogView

# Without shrinking: a failure is found in seconds, and its steps are printed all the same.
BOUNDED = settings(max_examples=25, stateful_step_count=12, deadline=None, phases=(Phase.generate,))
NAMES = ("copy", "send")
HONEST, TYPO, OTHER, HOSTILE = (
    "Handles notes of the person.",
    "Handles notes of the persom.",
    "Handles every note there is.",
    "Handles notes. HOSTILE",
)
SERVER = spec("notes")
Offer = Mapping[str, str]
offers = st.dictionaries(st.sampled_from(NAMES), st.sampled_from((HONEST, TYPO, OTHER, HOSTILE)))


def scanned(definition: Mapping[str, Any]) -> tuple[Finding, ...]:
    is_hostile = "HOSTILE" in definition.get("description", "")
    return (Finding("test", "hard", "/description", "looks hostile"),) if is_hostile else ()


def fingerprint(name: str, text: str) -> str:
    return Tool.from_mcp("", tool(name, text)).fingerprint


class Process:
    """One of the gateways that share a catalog."""

    def __init__(self, path: Path, ids: Any) -> None:
        self.store = SqliteCatalog(path)
        self.capabilities = SqliteCapabilities(path)
        self.approvals = Approvals(self.capabilities, now=lambda: 1.0, new_id=lambda: f"apr-{next(ids)}")
        self.catalog = Catalog(self.store, now=lambda: 1.0)
        self.view = CatalogView(self.catalog)
        self.view.configure([SERVER], RuleBook(()))

    def read(self, offer: Offer, on_change: OnChange, at: float) -> None:
        parts = ReviewParts(lambda: self.approvals, nobody, self.store.expire)
        reviewed = ReviewedReading(SERVER, on_change, parts, scanner=Scanner(1, scanned), tools={})
        reading = ServerReading(Identity("legacy", "1"), tuple(tool(name, text) for name, text in offer.items()))
        save_judged(self.store, SERVER, reading, at, reviewed)
        asyncio.run(reviewed.follow_up())

    def callable_now(self) -> set[str]:
        self.catalog.look()
        return {name for name, visible in self.view.tools("notes").items() if visible.enabled}

    def close(self) -> None:
        self.store.close()
        self.capabilities.close()


class Pinning(RuleBasedStateMachine):
    """What is pinned by whom, told in the plainest way, against what two processes show."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.ids, self.times = itertools.count(), itertools.count(1)
        self.path = Path(self.folder.name) / "catalog.db"
        self.processes = [Process(self.path, self.ids) for _ in range(2)]
        self.offer: Offer = {}
        self.was_read = False
        # All that was agreed to, the newest last; of a mended typo what it mends besides.
        self.agreed: dict[str, dict[str, str]] = {}
        self.by_person: set[str] = set()
        self.refused: set[str] = set()

    @rule(offer=offers, on_change=st.sampled_from(("review", "review", "warn")), who=st.integers(0, 1))
    def reading(self, offer: Offer, on_change: OnChange, who: int) -> None:
        self.processes[who].read(offer, on_change, float(next(self.times)))
        for name, text in offer.items():
            if self._is_taken_over(name, text, on_change):
                self._agree(name, text, self._mended(name, text) or text)
        self.offer, self.was_read = offer, True

    def _is_taken_over(self, name: str, text: str, on_change: OnChange) -> bool:
        if text == HOSTILE or fingerprint(name, text) in self.refused or text in self.agreed.get(name, {}):
            return False
        return not self.was_read or bool(self._mended(name, text)) or on_change == "warn"

    def _mended(self, name: str, text: str) -> str:
        """What was agreed to last, if this differs from it by a typo."""
        before = next(reversed(self.agreed.get(name, {}).values()), "")
        return before if {before, text} <= {HONEST, TYPO} else ""

    def _agree(self, name: str, text: str, mends: str) -> None:
        agreed = self.agreed.setdefault(name, {})
        agreed.pop(text, None)
        if text != mends:
            for other in [other for other, mended in agreed.items() if other != mended]:
                del agreed[other]
        agreed[text] = mends

    @rule(who=st.integers(0, 1))
    def restart(self, who: int) -> None:
        self.processes[who].close()
        self.processes[who] = Process(self.path, self.ids)

    @rule(who=st.integers(0, 1))
    def leaves_the_catalog(self, who: int) -> None:
        """Many other launches took its name, for example."""
        self.processes[who].store.forget(SERVER.launch_key)
        self.offer = {}

    def _waiting(self) -> list[Proposal]:
        return self.processes[0].approvals.all("pending")

    @precondition(lambda self: self._waiting())
    @rule(who=st.integers(0, 1))
    def agree(self, who: int) -> None:
        (waiting,) = self._waiting()
        self._review(who).approve(waiting, "ann")
        for change in waiting.changes:
            self._agree(change.name, change.now["description"], change.now["description"])
            self.by_person.add(change.fingerprint)
            self.refused.discard(change.fingerprint)

    @precondition(lambda self: self._waiting())
    @rule(who=st.integers(0, 1))
    def refuse(self, who: int) -> None:
        (waiting,) = self._waiting()
        self._review(who).reject(waiting, "ann")
        for change in waiting.changes:
            self.refused.add(change.fingerprint)
            agreed = self.agreed.get(change.name, {})
            for text, mends in list(agreed.items()):
                if change.fingerprint in {fingerprint(change.name, text), fingerprint(change.name, mends)}:
                    del agreed[text]

    @precondition(lambda self: self._waiting())
    @rule(offer=offers, who=st.integers(0, 1))
    def agree_to_what_changed_meanwhile(self, offer: Offer, who: int) -> None:
        (shown,) = self._waiting()
        self.reading(offer, "review", who)
        if any(one.offers_the_same(shown) for one in self._waiting()):
            return
        with pytest.raises(ApprovalRefused):
            self._review(who).approve(shown, "ann")

    def _review(self, who: int) -> ChangeReview:
        return ChangeReview(self.processes[who].approvals, self.processes[who].store)

    @invariant()
    def what_can_be_called_is_what_was_agreed_to(self) -> None:
        expected = {name for name, text in getattr(self, "offer", {}).items() if self._is_agreed(name, text)}
        for process in getattr(self, "processes", ()):
            assert process.callable_now() == expected

    def _is_agreed(self, name: str, text: str) -> bool:
        is_vouched = text != HOSTILE or fingerprint(name, text) in self.by_person
        return text in self.agreed.get(name, {}) and is_vouched

    @invariant()
    def all_else_waits_for_a_person_or_was_refused(self) -> None:
        if not getattr(self, "was_read", False):
            return
        open_ones = {change.name for one in self._waiting() for change in one.changes}
        left = {
            name
            for name, text in self.offer.items()
            if not self._is_agreed(name, text) and fingerprint(name, text) not in self.refused
        }
        assert left <= open_ones

    def teardown(self) -> None:
        for process in getattr(self, "processes", ()):
            process.close()
        if hasattr(self, "folder"):
            self.folder.cleanup()


class InBetween:
    """The store of somebody who decides, in whose way somebody else comes: before or after the first thing it writes."""

    def __init__(self, store: SqliteCatalog, happens: Callable[[], None], *, before: bool) -> None:
        self._store, self._happens, self._before = store, happens, before

    def decide_pins(self, *arguments: Any, **named: Any) -> None:
        happens, self._happens = self._happens, lambda: None
        if self._before:
            happens()
        self._store.decide_pins(*arguments, **named)
        if not self._before:
            happens()


DECISIONS: Mapping[str, Callable[[ChangeReview, Proposal], Proposal]] = {
    "approve": lambda review, waiting: review.approve(waiting, "ann"),
    "approve some": lambda review, waiting: review.approve_some(waiting, [("tool", "copy")], "ann"),
    "reject": lambda review, waiting: review.reject(waiting, "bob"),
}


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("other", DECISIONS)
@pytest.mark.parametrize("one", DECISIONS)
def test_t02_whoever_decides_at_the_same_moment_what_is_callable_is_what_the_request_says(
    tmp_path: Path, one: str, other: str, *, before: bool
) -> None:
    ids = itertools.count()
    here, there = (Process(tmp_path / "catalog.db", ids) for _ in range(2))
    here.read(dict.fromkeys(NAMES, HONEST), "review", 1.0)
    here.read(dict.fromkeys(NAMES, OTHER), "review", 2.0)
    (waiting,) = here.approvals.all("pending")

    def happens() -> None:
        with suppress(ApprovalRefused):
            DECISIONS[other](ChangeReview(there.approvals, there.store), waiting)

    store = cast("SqliteCatalog", InBetween(here.store, happens, before=before))
    with suppress(ApprovalRefused):
        DECISIONS[one](ChangeReview(here.approvals, store), waiting)

    said = here.approvals.get(waiting.id)
    accepted = {name for part in said.accepted for _, name, _ in part.definitions}
    approved = {change.name for change in said.changes} if said.state == "approved" else set()
    assert here.callable_now() == there.callable_now() == accepted | approved
    here.close()
    there.close()


def test_t02_no_path_to_callable_without_a_person() -> None:
    run_state_machine_as_test(Pinning, settings=BOUNDED)

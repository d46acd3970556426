"""One suite for what every store of the catalog keeps of pins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.catalogs import KINDS, open_catalog
from toolcrib.catalog.store import LAUNCHES_KEPT, CatalogStore, PinsKept, PinsMoved
from toolcrib.model.finding import Finding
from toolcrib.model.pin import Judged, Pin, PinnedKind
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.trust.canonical import fingerprint_of

READING = ServerReading(Identity("legacy", "1"), ({"name": "read"},))
HARD = Finding("payload", "hard", "/description", "decodes to a command", "rm")


def pin(name: str = "read", fingerprint: str = "f1", by: str = "first reading", kind: PinnedKind = "tool") -> Pin:
    return Pin(kind, name, fingerprint, by, 1.0, '{"name":"read"}')


def judged(*pins: Pin, was: int = 0, key: str = "key", **more: Any) -> Judged:
    return Judged(key, was, pins, kinds=frozenset({"tool", "server"}), **more)


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CatalogStore]:
    with open_catalog(request.param, tmp_path) as opened:
        yield opened


def test_what_was_judged_is_kept_with_the_reading(store: CatalogStore) -> None:
    before = store.change_token()
    store.save_reading("files", "launch", READING, 1.0, judged(pin(), findings={"f1": (HARD,), "f2": ()}, scanner=3))

    record, pins = store.servers()["launch"], store.pins("key", with_definitions=True)
    assert (record.review_key, record.pins_revision) == ("key", pins.revision)
    assert pins.pins == {("tool", "read"): pin()}
    assert (pins.kinds, pins.scanner, pins.refused) == (frozenset({"tool", "server"}), 3, frozenset())
    assert store.findings() == {"f1": (HARD,)}
    assert store.change_token() != before


def test_a_reading_judged_by_other_pins_changes_nothing(store: CatalogStore) -> None:
    store.save_reading("files", "launch", READING, 1.0, judged(pin()))
    revision = store.pins("key").revision
    store.decide_pins("key", "files", add=[pin("more", "f9", "person:ann")], by="ann", at=2.0)

    other = ServerReading(Identity("legacy", "1"), ({"name": "other"},))
    with pytest.raises(PinsMoved):
        store.save_reading("files", "launch", other, 3.0, judged(pin(fingerprint="f2"), was=revision))

    assert [tool.name for tool in store.tools("launch")] == ["read"]
    assert store.pins("key").pins["tool", "read"].fingerprint == "f1"
    assert store.servers()["launch"].read_at == 1.0


def test_a_no_takes_the_pin_away_and_a_yes_takes_the_no_back(store: CatalogStore) -> None:
    store.save_reading("files", "launch", READING, 1.0, judged(pin()))
    store.decide_pins("key", "files", refuse=["f1"], by="ann", at=2.0)
    assert (store.pins("key").pins, store.pins("key").refused) == ({}, {"f1"})

    store.decide_pins("key", "files", add=[pin(by="person:ann")], by="ann", at=3.0)
    assert (store.pins("key").pins["tool", "read"].by, store.pins("key").refused) == ("person:ann", frozenset())


def test_what_was_decided_of_a_server_outlives_its_place_in_the_catalog(store: CatalogStore) -> None:
    store.save_reading("files", "launch", READING, 1.0, judged(pin(), pin("other", "f2")))
    store.decide_pins("key", "files", refuse=["f1"], by="ann", at=2.0)
    before = store.pins("key")
    store.forget("launch")

    assert store.pins("key") == before
    assert (list(before.pins), before.refused) == ([("tool", "other")], {"f1"})


def test_pins_stay_when_many_other_launches_took_the_name(store: CatalogStore) -> None:
    for number in range(LAUNCHES_KEPT + 3):
        store.save_reading("files", f"launch {number}", READING, float(number), judged(pin(), key=f"key {number}"))
        store.mark_stale([f"launch {number}"])

    assert len(store.servers()) < LAUNCHES_KEPT + 3
    assert all(store.pins(f"key {number}").pins for number in range(LAUNCHES_KEPT + 3))


@pytest.mark.parametrize("kept", [PinsKept(unmet_seconds=10.0), PinsKept(most=3)], ids=["time", "number"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_not_met_for_long_is_forgotten_unless_a_person_decided_it(
    kind: str, kept: PinsKept, tmp_path: Path
) -> None:
    with open_catalog(kind, tmp_path, pins_kept=kept) as store:
        store.decide_pins("decided", "files", add=[pin(by="person:ann")], by="ann", at=1.0)
        for at, key in enumerate(("unmet", "met again", "known")):
            store.save_reading("files", key, READING, 1.0 + at, judged(pin(), key=key))
            store.decide_pins(key, "files", refuse=["f9"], by="ann", at=1.0 + at)
        met = judged(was=store.pins("met again").revision, key="met again")
        store.save_reading("files", "met again", READING, 15.0, met)
        for key in ("unmet", "met again"):
            store.forget(key)
        store.save_reading("other", "other", READING, 20.0, judged(pin(), key="other"))

        left = {key: store.pins(key).pins for key in ("decided", "unmet", "met again", "known", "other")}
        assert [key for key in left if left[key]] == ["decided", "met again", "known", "other"]
        assert store.pins("unmet").refused == {"f9"}


def test_what_was_agreed_to_before_a_server_was_read_stays(store: CatalogStore) -> None:
    store.decide_pins("key", "files", add=[pin(by="person:ann")], by="ann", at=1.0)
    store.save_reading("other", "other", READING, 2.0, Judged("another", 0))

    assert store.pins("key").pins


def test_what_was_agreed_to_before_stays_agreed_to_until_it_is_refused_itself(store: CatalogStore) -> None:
    store.save_reading("files", "launch", READING, 1.0, judged(pin(fingerprint="f1")))
    store.decide_pins("key", "files", add=[pin(fingerprint="f2", by="person:ann")], by="ann", at=2.0)
    both = store.pins("key")
    assert [one.fingerprint for one in both.of(("tool", "read"))] == ["f2", "f1"]
    assert both.agreed(("tool", "read"), "f3") is None

    store.decide_pins("key", "files", add=[pin(fingerprint="f1", by="person:ann")], by="ann", at=3.0)
    assert [one.fingerprint for one in store.pins("key").of(("tool", "read"))] == ["f1", "f2"]

    store.decide_pins("key", "files", refuse=["f1"], by="ann", at=4.0)
    assert [one.fingerprint for one in store.pins("key").of(("tool", "read"))] == ["f2"]


def test_many_typos_push_nothing_else_out_and_go_with_what_they_mended(store: CatalogStore) -> None:
    agreed = [pin(fingerprint=fingerprint_of(pin().definition), by="person:ann"), pin("more", "f9")]
    store.save_reading("files", "launch", READING, 1.0, judged(*agreed))
    for number in range(PinsKept().most_of_a_name + 1):
        mended = judged(pin(fingerprint=f"typo {number}", by="cosmetic"), was=store.pins("key").revision)
        store.save_reading("files", "launch", READING, 2.0 + number, mended)
    assert [one.by for one in store.pins("key").of(("tool", "read"))] == ["cosmetic", "person:ann"]

    store.decide_pins("key", "files", refuse=[agreed[0].fingerprint], by="ann", at=9.0)
    assert list(store.pins("key").pins) == [("tool", "more")]


@pytest.mark.parametrize("kind", KINDS)
def test_of_each_name_and_each_kind_only_the_newest_stay(kind: str, tmp_path: Path) -> None:
    with open_catalog(kind, tmp_path, pins_kept=PinsKept(most_of_a_name=2, most_of_a_kind=2)) as store:
        for name, fingerprint in (("a", "1"), ("b", "1"), ("a", "2"), ("a", "3"), ("c", "1")):
            resource = judged(pin(name, fingerprint, kind="resource"), was=store.pins("key").revision)
            store.save_reading("files", "launch", READING, 1.0, resource)
        store.decide_pins("key", "files", add=[pin(by="person:ann")], by="ann", at=2.0)

        known = store.pins("key")
        left = {name: [one.fingerprint for one in known.of(("resource", name))] for name in "abc"}
        assert left in ({"a": ["3"], "b": [], "c": ["1"]}, {"a": ["3", "2"], "b": [], "c": ["1"]})
        assert known.pins["tool", "read"]


def test_findings_of_a_peer_are_kept_and_its_pins_are_not(store: CatalogStore) -> None:
    store.save_reading("peer", "launch", READING, 1.0, Judged("", 0, (pin(),), {"f1": (HARD,)}))

    assert (store.findings(), store.servers()["launch"].review_key, store.pins("").pins) == ({"f1": (HARD,)}, "", {})


def test_a_reading_that_changes_no_pin_leaves_the_revision(store: CatalogStore) -> None:
    store.save_reading("files", "launch", READING, 1.0, judged(pin()))
    revision = store.pins("key").revision
    store.save_reading("files", "launch", READING, 2.0, judged(was=revision))

    assert store.pins("key").revision == revision


def test_definitions_are_given_on_request_and_the_words_of_a_server_always(store: CatalogStore) -> None:
    store.save_reading("files", "launch", READING, 1.0, judged(pin(), pin("", "f2", kind="server")))

    assert store.pins("key").pins["server", ""].definition
    assert store.pins("key", with_definitions=True).pins["tool", "read"].definition

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.peers.cards import ADDRESS, GARAGE, KITCHEN, NOW, STRANGER, card_of, definition, known_peer
from toolcrib.errors import PeerRefused
from toolcrib.model.peer import KnownPeer, PeerAddress, Sighting
from toolcrib.model.peer_id import peer_id_of_key
from toolcrib.model.server import SERVER_NAME
from toolcrib.peers.book import BookLimits, PeerBook
from toolcrib.peers.identity import Identity
from toolcrib.storage.memory_peers import MemoryPeers

OWN = Identity(b"o" * 32)
ELSEWHERE = PeerAddress("10.0.0.8", 9000)


def sighting(identity: Identity = KITCHEN, *addresses: PeerAddress, hint: str = "") -> Sighting:
    return Sighting(identity.peer_id, addresses or (ADDRESS,), "mdns", hint)


def book(**limits: Any) -> PeerBook:
    return PeerBook(OWN.peer_id, BookLimits(**limits))


def met(opened: PeerBook, identity: Identity, name: str, now: float = NOW) -> KnownPeer:
    """A peer that was seen and sent its card."""
    opened.see(sighting(identity), now)
    seen = opened.take_card(identity.peer_id, card_of(identity, name, now=now), b"certificate", ADDRESS, now)
    assert seen is not None
    return seen


def answered(opened: PeerBook, identity: Identity, name: str, now: float) -> None:
    """A peer is there and has the card that it had."""
    opened.take_card(identity.peer_id, card_of(identity, name), b"certificate", ADDRESS, now)


def written(opened: PeerBook, store: MemoryPeers) -> None:
    changes = opened.changes()
    store.save_peers(changes.saved)
    store.drop_seen(changes.dropped)
    opened.written(changes)
    opened.load(store.peers())


def test_our_own_announcement_is_ignored() -> None:
    opened = book()
    assert opened.see(sighting(OWN), NOW) is None
    assert opened.see(Sighting("not an id", (ADDRESS,), "mdns"), NOW) is None
    assert opened.all() == []


def test_one_peer_on_two_addresses_is_one() -> None:
    opened = book()
    met(opened, KITCHEN, "kitchen")
    opened.see(sighting(KITCHEN, ELSEWHERE), NOW)
    opened.see(Sighting(KITCHEN.peer_id, (ELSEWHERE,), "static"), NOW)

    (peer,) = opened.all()
    # Where it answered stays first: anybody can announce another address for it.
    assert peer.addresses == (ADDRESS, ELSEWHERE)

    opened.take_card(KITCHEN.peer_id, card_of(KITCHEN), b"", ELSEWHERE, NOW)
    assert opened.all()[0].addresses == (ELSEWHERE, ADDRESS)


def test_tools_of_a_card_are_held_until_they_are_written_down_and_no_longer() -> None:
    opened, store = book(), MemoryPeers()
    opened.see(sighting(), NOW)
    card = card_of(KITCHEN, "kitchen", [definition("add")])
    opened.take_card(KITCHEN.peer_id, card, b"", ADDRESS, NOW)
    assert opened.changes().saved[0].card == card

    written(opened, store)
    store.decide(KITCHEN.peer_id, "trusted", {})
    opened.load(store.peers())

    assert opened.all()[0].card == card.brief()
    # It answers that its card is the one we know: nothing is written, and nothing lost.
    opened.take_card(KITCHEN.peer_id, card.brief(), b"", ADDRESS, NOW + 10)
    assert opened.changes().saved == ()
    opened.take_card(KITCHEN.peer_id, card.brief(), b"", ADDRESS, NOW + 100)
    written(opened, store)
    assert [peer.card for peer in store.peers()] == [card]


def test_a_card_that_changed_during_a_check_is_not_taken_back() -> None:
    opened = book()
    before = met(opened, KITCHEN, "kitchen").card
    newer = card_of(KITCHEN, "kitchen", [definition("add")], now=NOW + 1)
    opened.take_card(KITCHEN.peer_id, newer, b"", ADDRESS, NOW + 1)
    assert before is not None

    opened.take_card(KITCHEN.peer_id, before.brief(), b"", ADDRESS, NOW + 2)

    assert opened.all()[0].card == newer


def test_a_peer_is_named_by_its_card_once() -> None:
    opened = book()
    unnamed = opened.see(sighting(), NOW)
    assert unnamed is not None
    assert unnamed.server == f"peer-{KITCHEN.peer_id[-6:]}"

    assert met(opened, KITCHEN, "Küche im Haus").server == "peer-Kuche-im-Haus"
    assert met(opened, KITCHEN, "garage").server == "peer-Kuche-im-Haus"
    assert opened.all()[0].title == "garage"


def test_of_two_strangers_with_one_name_the_second_gets_the_end_of_its_id() -> None:
    opened = book()
    assert met(opened, KITCHEN, "kitchen").server == "peer-kitchen"
    assert met(opened, GARAGE, "Kitchen").server == f"peer-Kitchen-{GARAGE.peer_id[-6:]}"


# Among them letters of Cyrillic, Greek and full width, a space of no width, and signs that nobody looks at.
LIKE_KITCHEN = (
    "kitchen",
    "Kitchen",
    "kítchen",
    "k\u0456tchen",
    "\u039aitchen",
    "\uff4bitchen",
    "kit\u200bchen",
    "kitchen.",
)
UNLIKE_KITCHEN = ("kitchen-2", "kitchens", "chicken", "\u53a8\u623f", "\u043a\u0443\u0445\u043d\u044f")


@pytest.mark.parametrize("name", [*LIKE_KITCHEN, " kitchen ", "-kitchen_", "k1tchen", "kltchen", "K\u0406TCHEN"])
def test_an_impostor_never_takes_a_trusted_name(name: str) -> None:
    opened = book()
    opened.load([known_peer(KITCHEN, "kitchen", trust="trusted")])
    opened.see(sighting(STRANGER), NOW)

    with pytest.raises(PeerRefused) as refused:
        opened.take_card(STRANGER.peer_id, card_of(STRANGER, name), b"", ADDRESS, NOW)

    assert refused.value.reason == "impostor"
    impostor = opened.get(STRANGER.peer_id)
    assert impostor is not None
    assert (impostor.card, impostor.trust) == (None, "seen")
    assert impostor.trouble == f"it claims the name of kitchen ({KITCHEN.peer_id})"
    assert impostor.server != "peer-kitchen"


@pytest.mark.parametrize("name", UNLIKE_KITCHEN)
def test_another_name_is_nobody_elses(name: str) -> None:
    opened = book()
    opened.load([known_peer(KITCHEN, "kitchen", trust="trusted"), known_peer(GARAGE, "\u4e66\u623f", trust="trusted")])

    assert met(opened, STRANGER, name).title == name


def test_a_stranger_that_changes_its_name_to_a_trusted_one_is_refused_too() -> None:
    opened = book()
    met(opened, STRANGER, "harmless")
    opened.load([known_peer(KITCHEN, "kitchen", trust="trusted"), known_peer(STRANGER, "harmless")])

    with pytest.raises(PeerRefused):
        met(opened, STRANGER, "kitchen")
    assert [peer.title for peer in opened.all()] == ["harmless", "kitchen"]


def test_two_peers_of_one_name_that_a_person_trusts_are_both_kept() -> None:
    opened = book()
    both = [known_peer(KITCHEN, "kitchen", trust="trusted"), known_peer(GARAGE, "kitchen", trust="trusted")]
    opened.load([both[0], replace(both[1], server="peer-kitchen-2")])

    assert met(opened, GARAGE, "kitchen").server == "peer-kitchen-2"


def test_a_thousand_announcements_leave_room_for_the_trusted() -> None:
    opened = book(most=20)
    opened.load([known_peer(KITCHEN, "kitchen", trust="trusted"), known_peer(GARAGE, "garage", trust="blocked")])
    met(opened, STRANGER, "stranger")
    for number in range(1_000):
        opened.see(Sighting(peer_id_of_key(number.to_bytes(32)), (ADDRESS,), "mdns"), NOW + number)

    assert len(opened.all()) == 20
    # One that answered stays as well: announcing is cheap, answering is not.
    assert {KITCHEN.peer_id, GARAGE.peer_id, STRANGER.peer_id} <= {peer.peer_id for peer in opened.all()}
    # And nothing of those that never answered is written.
    assert [peer.peer_id for peer in opened.changes().saved] == [STRANGER.peer_id]


def test_what_strangers_say_takes_only_so_much_room_and_one_host_only_a_part_of_it() -> None:
    opened = book()
    large = [definition(f"tool{number}", "x" * 1_000) for number in range(200)]

    def take(number: int, host: str, definitions: Any = large) -> bool:
        identity, place = Identity(number.to_bytes(32)), PeerAddress(host, 8666)
        opened.see(Sighting(identity.peer_id, (place,), "mdns"), NOW)
        with suppress(PeerRefused):
            return (
                opened.take_card(identity.peer_id, card_of(identity, f"n{number}", definitions), b"", place, NOW)
                is not None
            )
        return False

    assert [take(number, "10.0.0.66") for number in range(4)] == [True, True, False, False]
    assert sum(take(number, f"10.0.1.{number}") for number in range(10, 90)) < 40
    assert take(99, "10.0.0.7", large[:1])
    opened.load([replace(known_peer(KITCHEN), trust="trusted")])
    assert opened.take_card(KITCHEN.peer_id, card_of(KITCHEN, "kitchen", large), b"", ADDRESS, NOW) is not None
    # Those that are kept already are not asked to leave.
    assert take(0, "10.0.0.66")


def test_where_a_person_decided_about_all_there_is_no_room_for_others() -> None:
    opened = book(most=1)
    opened.load([known_peer(KITCHEN, "kitchen", trust="trusted")])
    assert opened.see(sighting(GARAGE), NOW) is None


def test_a_peer_that_made_room_leaves_the_store_unless_it_was_trusted_meanwhile() -> None:
    opened, store = book(most=2), MemoryPeers()
    met(opened, KITCHEN, "kitchen", NOW)
    met(opened, GARAGE, "garage", NOW + 1)
    written(opened, store)
    store.decide(KITCHEN.peer_id, "trusted", {})

    met(opened, STRANGER, "stranger", NOW + 2)
    assert {peer.peer_id for peer in opened.all()} == {GARAGE.peer_id, STRANGER.peer_id}
    written(opened, store)

    assert {peer.server: peer.trust for peer in opened.all()} == {
        "peer-kitchen": "trusted",
        "peer-garage": "seen",
        "peer-stranger": "seen",
    }


def test_unseen_for_five_minutes_a_peer_is_gone_and_comes_back() -> None:
    opened = book()
    met(opened, KITCHEN, "kitchen")
    opened.load([known_peer(KITCHEN, "kitchen", trust="trusted")])

    assert opened.withdraw_stale(NOW + 300) == []
    assert [peer.server for peer in opened.withdraw_stale(NOW + 301)] == ["peer-kitchen"]
    (peer,) = opened.all()
    assert (peer.card, peer.trust) == (None, "trusted")

    met(opened, KITCHEN, "kitchen", NOW + 400)
    (peer,) = opened.all()
    assert peer.card is not None


def test_only_known_peers_are_looked_at_where_a_person_wants_that() -> None:
    opened = book(only_known=True)
    opened.load([known_peer(KITCHEN, "kitchen", trust="trusted")])
    assert opened.see(sighting(GARAGE), NOW) is None
    assert opened.see(sighting(KITCHEN), NOW) is not None


def test_a_blocked_peer_stays_unknown() -> None:
    opened = book()
    opened.load([known_peer(KITCHEN, "kitchen", trust="blocked")])
    assert opened.see(sighting(), NOW) is None
    assert opened.take_card(KITCHEN.peer_id, card_of(KITCHEN), b"", ADDRESS, NOW) is None
    assert opened.due(NOW + 1_000) == []


def test_whom_a_person_forgot_is_gone_and_may_be_seen_anew() -> None:
    opened, store = book(), MemoryPeers()
    met(opened, KITCHEN, "kitchen")
    written(opened, store)
    store.forget_peer(KITCHEN.peer_id)
    opened.load(store.peers())
    assert opened.all() == []
    assert met(opened, KITCHEN, "kitchen").server == "peer-kitchen"


def test_a_peer_that_was_not_written_yet_is_not_taken_for_a_forgotten_one() -> None:
    opened, store = book(), MemoryPeers()
    met(opened, KITCHEN, "kitchen")
    opened.changes()
    opened.load(store.peers())
    assert [peer.server for peer in opened.changes().saved] == ["peer-kitchen"]


def test_peers_are_due_at_once_then_every_ten_seconds_and_after_1_2_3_4_5_when_they_are_away() -> None:
    opened = book()
    met(opened, KITCHEN, "kitchen")

    def is_due(at: float) -> bool:
        return bool(opened.due(NOW + at))

    assert [is_due(at) for at in (9.9, 10.0, 10.1)] == [False, True, False]
    at = 10.0
    for wait in (1, 2, 3, 4, 5, 10, 10):
        opened.missed(KITCHEN.peer_id, NOW + at)
        assert not is_due(at + wait - 0.1)
        at += wait
        assert is_due(at)
    answered(opened, KITCHEN, "kitchen", NOW + at)
    assert [is_due(at + 9), is_due(at + 10)] == [False, True]


def test_news_of_a_peer_makes_it_due_but_not_twice_within_a_second() -> None:
    opened = book()
    met(opened, KITCHEN, "kitchen")
    etag = card_of(KITCHEN).etag
    assert len(opened.due(NOW + 10)) == 1

    opened.see(sighting(hint=etag[:8]), NOW + 12)
    assert opened.due(NOW + 12) == []
    opened.see(sighting(hint="other"), NOW + 12)
    assert len(opened.due(NOW + 12)) == 1
    opened.see(sighting(hint="another"), NOW + 12.5)
    assert opened.due(NOW + 12.9) == []
    assert len(opened.due(NOW + 13)) == 1


def test_what_goes_wrong_is_written_and_forgotten_when_it_answers() -> None:
    opened, store = book(), MemoryPeers()
    met(opened, KITCHEN, "kitchen")
    opened.missed(KITCHEN.peer_id, NOW + 5)
    opened.missed(KITCHEN.peer_id, NOW + 6)
    opened.refused(KITCHEN.peer_id, "its certificate is another one", NOW + 7)
    written(opened, store)
    (peer,) = store.peers()
    assert (peer.away_since, peer.trouble) == (NOW + 5, "its certificate is another one")

    answered(opened, KITCHEN, "kitchen", NOW + 8)
    written(opened, store)
    (peer,) = store.peers()
    assert (peer.away_since, peer.trouble, peer.seen_at) == (None, "", NOW + 8)


def test_a_peer_that_is_there_is_not_written_every_time() -> None:
    opened, store = book(), MemoryPeers()
    met(opened, KITCHEN, "kitchen")
    written(opened, store)
    writes = []
    for second in range(10, 301, 10):
        answered(opened, KITCHEN, "kitchen", NOW + second)
        writes.append(len(opened.changes().saved))
        written(opened, store)
    assert sum(writes) == 4
    assert not store.peers()[0].is_stale(NOW + 300, 300)


def test_a_new_card_is_written(caplog: pytest.LogCaptureFixture) -> None:
    opened, store = book(), MemoryPeers()
    met(opened, KITCHEN, "kitchen")
    written(opened, store)
    card = card_of(KITCHEN, "kitchen", [definition("new")], now=NOW + 1)
    opened.take_card(KITCHEN.peer_id, card, b"other", ADDRESS, NOW + 1)
    written(opened, store)
    kept = store.peer(KITCHEN.peer_id)
    assert kept is not None
    assert (kept.card, kept.certificate) == (card, b"other")


IDENTITIES = [Identity(bytes([number]) * 32) for number in range(1, 9)]
NAMES = ["kitchen", "Kitchen", "garage", "", "…", "a" * 100, "peer-kitchen"]
STEPS = st.tuples(
    st.sampled_from(["see", "card", "miss", "answer", "trust", "block", "forget", "write", "load"]),
    st.integers(0, 7),
    st.sampled_from(NAMES),
    st.integers(0, 200),
)


@settings(max_examples=200)
@given(st.lists(STEPS, max_size=60))
def test_whatever_happens_names_are_unique_the_trusted_stay_and_there_is_room(
    steps: list[tuple[str, int, str, int]],
) -> None:
    opened, store, now = book(most=4), MemoryPeers(), NOW
    trusted: set[str] = set()
    for act, number, name, passed in steps:
        now += passed
        identity = IDENTITIES[number]
        _do(act, opened, store, identity, name or "x", now)
        if act == "trust" and any(peer.peer_id == identity.peer_id for peer in store.peers()):
            trusted.add(identity.peer_id)
        elif act in {"forget", "block"}:
            trusted.discard(identity.peer_id)

        known = opened.all()
        servers = [peer.server.lower() for peer in known]
        assert len(set(servers)) == len(servers)
        assert all(SERVER_NAME.fullmatch(peer.server) for peer in known)
        decided = [peer for peer in known if peer.trust != "seen"]
        assert len(known) <= max(4, len(decided) + 4)
        assert trusted <= {peer.peer_id for peer in store.peers()}


def _do(act: str, opened: PeerBook, store: MemoryPeers, identity: Identity, name: str, now: float) -> None:
    peer_id = identity.peer_id
    match act:
        case "see":
            opened.see(sighting(identity), now)
        case "card":
            if opened.get(peer_id) is not None:
                try:
                    opened.take_card(peer_id, card_of(identity, name, now=now), b"", ADDRESS, now)
                except PeerRefused as refused:
                    assert refused.reason == "impostor"  # noqa: PT017 - in most runs nothing is raised
        case "miss":
            opened.missed(peer_id, now)
        case "answer":
            with suppress(PeerRefused):
                answered(opened, identity, name, now)
        case "trust" | "block":
            store.decide(peer_id, "trusted" if act == "trust" else "blocked", None)
        case "forget":
            store.forget_peer(peer_id)
        case "load":
            opened.load(store.peers())
        case _:
            written(opened, store)

"""One suite for every store of known peers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.peers.cards import ADDRESS, GARAGE, KITCHEN, NOW, definition, known_peer
from toolcrib.model.tool import Tool
from toolcrib.peers.store import PeerStore
from toolcrib.storage.memory_peers import MemoryPeers
from toolcrib.storage.peer_rows import body_of, peer_of, tools_of
from toolcrib.storage.sqlite import SqliteCatalog
from toolcrib.storage.sqlite_peers import SqlitePeers

DEFINITIONS = st.dictionaries(
    st.text(),
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.lists(st.text(), max_size=3),
    max_size=4,
)
PEER = replace(
    known_peer(KITCHEN, "kitchen", [definition("add", "Grüße 文件", n={"type": "number", "maximum": 1.5})]),
    certificate=b"\x00\xff",
    multiaddrs=("/ip4/10.0.0.7/tcp/4001",),
    away_since=NOW + 1,
    trouble="odd",
)
OTHER = known_peer(GARAGE, "garage")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PeerStore]:
    makers: dict[str, Callable[[], PeerStore]] = {
        "memory": MemoryPeers,
        "sqlite": lambda: SqlitePeers(tmp_path / "catalogue.db"),
    }
    opened = makers[request.param]()
    yield opened
    opened.close()


def test_a_new_store_is_empty(store: PeerStore) -> None:
    assert store.peers() == []
    assert not store.decide("x", "trusted", {})
    assert not store.forget_peer("x")


def test_peers_come_back_as_they_were_by_name(store: PeerStore) -> None:
    store.save_peers([PEER, OTHER])
    assert [store.peer(peer.peer_id) for peer in store.peers()] == [OTHER, PEER]
    assert store.peer("x") is None


def test_of_strangers_the_tools_are_read_one_by_one_and_of_the_trusted_at_once(store: PeerStore) -> None:
    store.save_peers([PEER, OTHER])
    store.decide(GARAGE.peer_id, "trusted", {})

    garage, kitchen = store.peers()

    assert garage.card == OTHER.card
    assert kitchen == PEER.brief()
    assert kitchen.card is not None
    assert (kitchen.card.definitions, kitchen.card.tool_count) == (None, 1)


def test_what_is_seen_of_a_peer_with_a_brief_card_leaves_its_tools_as_they_were(store: PeerStore) -> None:
    store.save_peers([PEER])
    seen = replace(PEER, seen_at=NOW + 60)
    store.save_peers([seen.brief()])
    assert store.peer(KITCHEN.peer_id) == seen


def test_a_decision_is_not_lost_to_a_sighting(store: PeerStore) -> None:
    store.save_peers([PEER])
    assert store.decide(KITCHEN.peer_id, "trusted", {"add": "f1"})

    # Another process saw it as it was before the decision, or as somebody who took another name.
    seen = replace(PEER, server="peer-else", trust="seen", pins={}, seen_at=NOW + 10, found_at=NOW + 10, trouble="")
    store.save_peers([seen])

    assert store.peers() == [
        replace(seen, server="peer-kitchen", trust="trusted", pins={"add": "f1"}, found_at=PEER.found_at)
    ]


def test_nobody_is_trusted_by_being_seen(store: PeerStore) -> None:
    store.save_peers([replace(PEER, trust="trusted", pins={"add": "f1"})])
    assert [(peer.trust, peer.pins) for peer in store.peers()] == [("seen", {})]


def test_a_decision_keeps_the_reviewed_tools_unless_others_are_given(store: PeerStore) -> None:
    store.save_peers([PEER])
    store.decide(KITCHEN.peer_id, "trusted", {"add": "f1"})
    store.decide(KITCHEN.peer_id, "blocked", None)
    assert [(peer.trust, peer.pins) for peer in store.peers()] == [("blocked", {"add": "f1"})]
    store.decide(KITCHEN.peer_id, "seen", {})
    assert [(peer.trust, peer.pins) for peer in store.peers()] == [("seen", {})]


def test_the_name_of_another_is_not_given_twice(store: PeerStore) -> None:
    store.save_peers([PEER, replace(OTHER, server="peer-kitchen")])
    assert store.peers() == [PEER.brief()]


def test_a_peer_that_nobody_decided_about_may_get_its_name_later(store: PeerStore) -> None:
    store.save_peers([replace(PEER, server="peer-new"), OTHER])
    store.save_peers([PEER])
    store.save_peers([replace(OTHER, server="peer-kitchen", addresses=(ADDRESS, ADDRESS))])
    assert [peer.server for peer in store.peers()] == ["peer-garage", "peer-kitchen"]


def test_only_peers_that_nobody_decided_about_make_room(store: PeerStore) -> None:
    store.save_peers([PEER, OTHER])
    store.decide(KITCHEN.peer_id, "trusted", {})
    store.drop_seen([KITCHEN.peer_id, GARAGE.peer_id, "x"])
    assert [peer.peer_id for peer in store.peers()] == [KITCHEN.peer_id]
    assert store.forget_peer(KITCHEN.peer_id)
    assert store.peers() == []


def test_every_change_is_noticed_by_those_who_follow_the_catalog(tmp_path: Path) -> None:
    file = tmp_path / "catalogue.db"
    with closing(SqlitePeers(file)) as store, closing(SqliteCatalog(file)) as catalog:

        def changes(write: Callable[[], object]) -> bool:
            before = catalog.change_token()
            write()
            return catalog.change_token() != before

        assert changes(lambda: store.save_peers([PEER]))
        assert not changes(lambda: store.save_peers([PEER]))
        assert changes(lambda: store.save_peers([replace(PEER, seen_at=NOW + 1)]))
        assert changes(lambda: store.decide(KITCHEN.peer_id, "blocked", None))
        assert not changes(lambda: store.decide("x", "blocked", None))
        assert not changes(lambda: store.drop_seen([KITCHEN.peer_id]))
        assert changes(lambda: store.forget_peer(KITCHEN.peer_id))


def test_a_row_of_a_newer_toolcrib_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "catalogue.db"
    with closing(SqlitePeers(file)) as store:
        store.save_peers([PEER, OTHER])
        with closing(sqlite3.connect(file)) as db:
            db.execute("UPDATE peers SET trust = 'friend' WHERE server = 'peer-garage'")
            db.commit()

        assert store.peers() == [PEER.brief()]
        with closing(sqlite3.connect(file)) as db:
            assert db.execute("SELECT count(*) FROM peers").fetchone() == (2,)


@given(DEFINITIONS)
def test_a_pin_holds_for_what_comes_back_from_the_store(schema: dict[str, Any]) -> None:
    peer = known_peer(KITCHEN, "kitchen", [{"name": "add", "inputSchema": schema}])
    store = MemoryPeers()
    store.save_peers([peer])
    texts = body_of(peer), tools_of(peer)
    kept = peer_of((peer.peer_id, peer.server, "seen", "{}", peer.by, peer.found_at, peer.seen_at, *texts))
    assert kept == peer == store.peer(peer.peer_id)
    assert peer.card is not None
    assert kept is not None
    assert kept.card is not None
    pins = [[Tool.from_mcp("", one).fingerprint for one in card.definitions or ()] for card in (peer.card, kept.card)]
    assert pins[0] == pins[1]

from __future__ import annotations

from dataclasses import replace

from tests.fakes import spec, tool
from tests.peers.cards import GARAGE, KITCHEN, NOW, definition, known_peer
from tests.showroom import NO_RULES, Showroom
from toolcrib.config.settings import Settings
from toolcrib.engine.peer_specs import overlay_of, peer_spec
from toolcrib.engine.peer_trust import fingerprints
from toolcrib.model.server import RemoteLaunch
from toolcrib.workspace.overlay import Overlay
from toolcrib.workspace.workspace import Workspace

ADD, READ = definition("add"), definition("read")
TRUSTED = known_peer(KITCHEN, "kitchen", [ADD, READ], trust="trusted", pins=fingerprints([ADD]))
PEER = peer_spec(TRUSTED, 30.0)


def test_only_peers_that_are_trusted_and_there_are_laid_over() -> None:
    peers = [
        TRUSTED,
        known_peer(GARAGE, "garage"),
        replace(TRUSTED, peer_id="b", server="b", trust="blocked"),
        replace(TRUSTED, peer_id="c", server="c", seen_at=NOW - 301),
    ]
    overlay = overlay_of(peers, Settings(), NOW)
    assert [one.name for one in overlay.specs] == ["peer-kitchen"]
    assert overlay.reviewed == {PEER.launch_key: TRUSTED.pins}
    assert overlay_of(peers, Settings(peers_stale_after_seconds=1), NOW + 2).specs == ()


def test_a_configured_name_is_kept_and_a_launch_is_shown_once() -> None:
    overlay = Overlay((PEER,))
    other = spec("Peer-Kitchen")
    assert [one.name for one in overlay.over([other])] == ["Peer-Kitchen", f"peer-kitchen-{KITCHEN.peer_id[-6:]}"]
    same = spec("cook", launch=RemoteLaunch(f"peer://{KITCHEN.peer_id}"))
    assert overlay.over([same]) == (same,)
    assert overlay.over([]) == (PEER,)


def test_only_reviewed_tools_can_be_used_and_other_servers_need_no_review() -> None:
    shop = Showroom(PEER, spec("files"))
    shop.view.configure([PEER, spec("files")], NO_RULES, {PEER.launch_key: fingerprints([ADD])})
    shop.save(tool("anything"), entry=spec("files"))

    def states() -> dict[str, str]:
        return {name: one.availability.state for name, one in shop.view.tools("peer-kitchen").items()}

    # From the card, then from the first reading, then after it offers something else.
    assert states() == {"add": "enabled", "read": "pending"}
    shop.save(ADD, READ, entry=PEER)
    assert states() == {"add": "enabled", "read": "pending"}
    shop.save({**ADD, "title": "other"}, READ, entry=PEER)
    assert states() == {"add": "changed", "read": "pending"}
    assert shop.view.tools("files")["anything"].enabled


def test_a_workspace_shows_what_is_found_if_its_settings_want_that() -> None:
    shop, found = Showroom(), [Overlay()]
    opened = Workspace(Settings(peers_enabled=True), shop.catalog, shop.index, found=lambda: found[0])
    closed = Workspace(Settings(), shop.catalog, shop.index, found=lambda: found[0])
    off = Workspace(Settings(peers_enabled=True, enabled=False), shop.catalog, shop.index, found=lambda: found[0])
    assert not opened.show_found()

    found[0] = overlay_of([TRUSTED], Settings(), NOW)
    assert [one.show_found() for one in (opened, closed, off)] == [True, False, False]
    assert [list(one.view.specs) for one in (opened, closed, off)] == [["peer-kitchen"], [], []]
    assert not opened.show_found()

    found[0] = Overlay()
    assert opened.show_found()
    assert list(opened.view.specs) == []

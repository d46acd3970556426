from __future__ import annotations

from toolcrib.model.peer import KnownPeer, PeerAddress, peer_id_of, peer_url
from toolcrib.model.server import RemoteLaunch, ServerSpec


def test_a_peer_keeps_its_launch_wherever_it_is_reached() -> None:
    here = ServerSpec("peer-kitchen", RemoteLaunch(peer_url("12D3KooWabc")))
    elsewhere = ServerSpec("peer-kitchen-2", RemoteLaunch(peer_url("12D3KooWabc")))

    assert here.launch_key == elsewhere.launch_key
    assert isinstance(here.launch, RemoteLaunch)
    assert peer_id_of(here.launch.url) == "12D3KooWabc"
    assert [peer_id_of(url) for url in ("https://peer.example", "peer://", "peer:x")] == [None, None, None]


def test_a_peer_is_stale_until_it_answered_and_after_it_was_unseen_for_too_long() -> None:
    peer = KnownPeer(peer_id="a", server="peer-a", title="a", by="mdns", found_at=0.0)
    seen = KnownPeer(peer_id="a", server="peer-a", title="a", by="mdns", found_at=0.0, seen_at=100.0)

    assert peer.is_stale(0.0, 300.0)
    assert not seen.is_stale(400.0, 300.0)
    assert seen.is_stale(400.1, 300.0)


def test_an_address_is_written_as_it_goes_into_a_url() -> None:
    written = [str(PeerAddress("10.0.0.7", 8666)), str(PeerAddress("fe80::1%eth0", 8666))]
    assert written == ["10.0.0.7:8666", "[fe80::1%eth0]:8666"]

"""Links over HTTP: what they share."""

from __future__ import annotations

from tests.fakes import hearing
from tests.upstream.http_servers import unused_address
from toolcrib.model.server import RemoteLaunch
from toolcrib.upstream.http_links import HttpLinks
from toolcrib.upstream.link import TransportLimits


async def test_links_that_share_a_client_connect_within_the_time_that_holds_when_they_are_opened() -> None:
    links, far = HttpLinks("test"), RemoteLaunch(unused_address())
    try:
        await links.open("far", far, {}, hearing(lambda *_: None), TransportLimits(connect_seconds=2.0))
        client = links._client
        assert client is not None
        await links.open("far", far, {}, hearing(lambda *_: None), TransportLimits(connect_seconds=7.0))
        assert (links._client, client.timeout.connect, client.timeout.read) == (client, 7.0, None)
    finally:
        await links.close()

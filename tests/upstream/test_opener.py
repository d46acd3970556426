"""Opening links: what holds for all of them together."""

from __future__ import annotations

from pathlib import Path

from tests.fakes import spec
from tests.upstream.http_servers import unused_address
from toolcrib.model.server import RemoteLaunch
from toolcrib.upstream.link import TransportLimits
from toolcrib.upstream.opener import LinkOpener


async def test_links_that_share_a_client_connect_within_the_time_that_holds_when_they_are_opened(tmp_path: Path):
    seconds = 2.0
    opener = LinkOpener(
        env={}, logs_dir=tmp_path, limits=lambda: TransportLimits(connect_seconds=seconds), user_agent="test"
    )
    far = spec("far", launch=RemoteLaunch(unused_address()))
    try:
        await opener(far, lambda *_: None)
        client = opener._client
        assert client is not None
        seconds = 7.0
        await opener(far, lambda *_: None)
        assert (opener._client, client.timeout.connect, client.timeout.read) == (client, 7.0, None)
    finally:
        await opener.close()

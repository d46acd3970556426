"""T05: what a client shows us, and what one server is given, reaches nobody else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.journeys.http_gateway import write_config
from tests.server.named_token_face import named_token_face
from tests.server.token_issuer import Issuer, listening

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def test_t05_no_credential_of_a_client_reaches_a_server(tmp_path: Path) -> None:
    async with named_token_face(tmp_path) as face:
        token = face.made("ci")
        for era in ("modern", "legacy"):
            for text in (token, face.owner.token):
                client = await face.client(text).open(era)
                for server in ("files", "mail"):
                    assert "result" in (await client.execute(server, "get_file", {}))[-1]
        seen = face.server.seen

    assert len(face.server.of("tools/call")) == 8
    assert not [
        one for one in seen if {token, face.owner.token} & {*one.headers.values(), *one.body.decode().split('"')}
    ]
    # Each server gets what its own entry names, and nothing of the other's.
    assert {one.headers.get("authorization") for one in seen if one.path == "/mcp"} == {"Bearer the-server's-own"}
    assert {one.headers.get("authorization") for one in seen if one.path == "/mail"} == {None}


async def test_t05_a_token_that_was_made_for_somebody_else_is_not_taken(tmp_path: Path) -> None:
    issuer = Issuer()
    async with issuer.serving():
        config = write_config(tmp_path, {}, http={"auth": {"issuer": issuer.address}})
        async with listening(config, tmp_path / "token") as face:
            issuer.audience = face.url
            good = await replace(face, token=issuer.token()).post(PING)
            other = await replace(face, token=issuer.token(aud="https://mail.example.com/mcp")).post(PING)

    assert good.status_code != 401
    assert other.status_code == 401

"""T05: what a client shows us, and what one server is given, reaches nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.journeys.http_gateway import write_config
from tests.server.named_token_face import Face, named_token_face
from tests.server.token_issuer import Issuer, listening
from tests.upstream.http_servers import Seen

OWN = "the-server's-own"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def test_t05_no_credential_of_a_client_reaches_a_server(tmp_path: Path) -> None:
    async with named_token_face(tmp_path) as face:
        shown = (face.made("ci"), face.owner.token)
        await call_both_servers(face, shown)

    assert len(face.server.of("tools/call")) == 8
    assert not [one for one in face.server.seen for token in shown if has(one, token)]


async def test_t05_each_server_gets_what_its_entry_names_and_nothing_of_another(tmp_path: Path) -> None:
    async with named_token_face(tmp_path) as face:
        await call_both_servers(face, (face.owner.token,))
        seen = face.server.seen

    given = {(one.path, one.headers.get("authorization")) for one in seen}
    assert given == {("/mcp", f"Bearer {OWN}"), ("/mail", None)}
    assert not [one for one in seen if one.path == "/mail" and has(one, OWN)]


async def call_both_servers(face: Face, tokens: Sequence[str]) -> None:
    for token in tokens:
        for era in ("modern", "legacy"):
            client = await face.client(token).open(era)
            for server in ("files", "mail"):
                assert "result" in (await client.execute(server, "get_file", {}))[-1]


def has(request: Seen, token: str) -> bool:
    """Whether this token is anywhere in a request: in its address, in a header of any name, in its body."""
    return any(token in part for part in (request.path, *request.headers.values(), request.body.decode()))


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

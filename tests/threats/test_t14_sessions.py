"""T14: a session, a handle or an open question is of no use to anybody but whom it was made for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.server.http_face import ACCEPT, Bare
from tests.server.named_token_face import TOOLS, named_token_face
from tests.server.test_sse_face import open_stream, posted
from tests.upstream.http_servers import Out, Seen

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
LARGE = "secret " * 20_000


async def large(seen: Seen, out: Out) -> None:
    results: dict[str, Any] = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
        "tools/list": {"tools": TOOLS},
        "tools/call": {"content": [{"type": "text", "text": LARGE}]},
    }
    await out.send(200, seen.answer({**results[seen.rpc], "resultType": "complete"}))


async def handle_of(client: Bare) -> str:
    answer = (await client.execute("files", "get_file", {}))[-1]["result"]["content"][0]["text"]
    return str(json.loads(answer)["handle"])


async def test_t14_a_session_is_of_no_use_to_another_token(tmp_path: Path) -> None:
    async with named_token_face(tmp_path) as face:
        face.server.answer = large
        ours, theirs = face.made("ours"), face.made("theirs")
        client = await face.client(ours).open("legacy")
        sessions = {client.session["mcp-session-id"]}
        for thief in (theirs, face.owner.token):
            stolen = Bare(face.owner.http, face.owner.url, "legacy", client.session, thief)
            assert (await stolen.post(PING)).status_code == 404
            headers = {**ACCEPT, "authorization": f"Bearer {thief}", **client.session}
            assert (await face.owner.http.delete(face.owner.url, headers=headers)).status_code == 404
            async with open_stream(face.client(ours)) as url:
                assert (await posted(face.client(thief), url)).status_code == 404
                assert (await posted(face.client(ours), url)).status_code == 202
            sessions.add((await face.client(thief).open("legacy")).session["mcp-session-id"])
        assert (await client.post(PING)).status_code == 200
        # Long, and not to be guessed from each other.
        assert min(len(session.replace("-", "")) for session in sessions) >= 32
        assert len({session[:8] for session in sessions}) == len(sessions)
        face.revoke("ours")
        assert (await client.post(PING)).status_code == 401


async def test_t14_what_is_kept_for_one_token_is_not_read_with_another(tmp_path: Path) -> None:
    async with named_token_face(tmp_path) as face:
        face.server.answer = large
        ours, theirs = face.client(face.made("ours")), face.client(face.made("theirs"))
        handle = await handle_of(ours)
        answers = {
            name: (await client.execute("toolcrib", "read_result", {"handle": handle, "length": 6}))[-1]["result"]
            for name, client in (("ours", ours), ("theirs", theirs), ("owner", face.owner))
        }

    assert answers["ours"]["content"][0]["text"].startswith("secret")
    for name in ("theirs", "owner"):
        assert "RESULT_EXPIRED" in answers[name]["content"][0]["text"], name

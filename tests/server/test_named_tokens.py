"""Tokens for single programs over HTTP: what each may do, and when it is over."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.server.http_face import ACCEPT, LEGACY, Bare
from tests.server.named_token_face import Face, answer, named_token_face
from tests.upstream.http_servers import Out, Seen
from toolcrib.config.paths import Paths
from toolcrib.errors import StoreUnavailable
from toolcrib.storage.token_file import TokenFile

ERAS = ("modern", "legacy")
BOUND_SECONDS = 10.0
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def ran(client: Bare, tool: str, server: str = "files") -> Any:
    """What came of a call: text, or the code of the error."""
    answer = (await client.execute(server, tool, {}))[-1]["result"]
    said = answer["content"][0]["text"]
    return json.loads(said)["error"]["code"] if answer.get("isError") else said


async def asked(client: Bare, name: str, **arguments: Any) -> Any:
    answer = (await client.request("tools/call", {"name": name, "arguments": arguments}))[-1]["result"]
    return json.loads(answer["content"][0]["text"])


@pytest.mark.parametrize("era", ERAS)
async def test_a_token_may_use_what_it_was_made_for(tmp_path: Path, era: str) -> None:
    async with named_token_face(tmp_path) as face:
        reader = await face.client(face.made("reader", servers=("fil*",), read_only=True)).open(era)
        owner = await face.owner.open(era)
        answers = [await ran(reader, name) for name in ("get_file", "write_file", "delete_file")]
        elsewhere = await ran(reader, "get_file", "mail")
        seen = [server["name"] for server in (await asked(reader, "list_mcp_servers"))["servers"]]
        listed = [tool["name"] for tool in (await asked(reader, "list_tools", server="files"))["tools"]]

        assert answers == ["ran get_file", "TOOL_DISABLED", "TOOL_DISABLED"]
        assert elsewhere == "SERVER_NOT_FOUND"
        assert (seen, listed) == (["files"], ["get_file"])
        assert await ran(owner, "delete_file") == "ran delete_file"


async def greeting(client: Bare, era: str) -> str:
    """What a client is told first."""
    if era == "modern":
        return json.dumps((await client.request("server/discover", {}))[-1]["result"])
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}}
    return (await client.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).text


@pytest.mark.parametrize("era", ERAS)
async def test_the_handshake_tells_only_of_servers_of_the_caller(tmp_path: Path, era: str) -> None:
    async with named_token_face(tmp_path) as face:
        # Reads the servers, so that what they offer is known.
        await ran(await face.client(face.made("first")).open(era), "get_file")
        owner = await greeting(face.owner, era)
        token = await greeting(face.client(face.made("mail", servers=("mail",))), era)

    words = ("Servers: files", "mail", '"prompts"')
    assert [word in owner for word in words] == [True, True, True]
    assert [word in token for word in words] == [False, True, False]


async def test_whoever_may_use_no_server_is_told_that_it_is_for_its_token(tmp_path: Path) -> None:
    async with named_token_face(tmp_path) as face:
        token = face.client(face.made("typo", servers=("nots",)))
        listed = await asked(token, "list_mcp_servers")
        found = await asked(token, "search_tools", query="get a file")

        told = await greeting(token, "modern")

    for note in (listed["note"], found["note"], told):
        assert "Your profile or token gives you no server" in note
        assert "adopt" not in note


async def test_a_profile_and_a_token_allow_what_both_do(tmp_path: Path) -> None:
    profiles = {"look": {"readOnly": True}}
    async with named_token_face(tmp_path, profiles=profiles) as face:
        both = face.client(face.made("both", servers=("files",), profile="look"))
        gone = face.client(face.made("gone", profile="no-such-profile"))

        assert await ran(both, "get_file") == "ran get_file"
        assert await ran(both, "write_file") == "TOOL_DISABLED"
        assert await ran(both, "get_file", "mail") == "SERVER_NOT_FOUND"
        assert await ran(gone, "get_file") == "SERVER_NOT_FOUND"
        proposed = (await gone.execute("toolcrib", "introspect_server", {"endpoint": "some-command"}))[-1]["result"]
        assert json.loads(proposed["content"][0]["text"])["error"]["code"] == "TOOL_DISABLED"


@pytest.mark.parametrize("end", ["revoked", "expired"])
@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_an_expired_or_revoked_token_ends_its_sessions(tmp_path: Path, end: str, path: str) -> None:
    async with named_token_face(tmp_path) as face, asyncio.timeout(BOUND_SECONDS):
        token = face.made("ci", expires_at=time.time() + 1.5 if end == "expired" else None)
        client = await face.client(token).open("legacy")
        headers = {**ACCEPT, "authorization": f"Bearer {token}", **(client.session if path == "/mcp" else {})}
        async with face.owner.http.stream("GET", f"{face.origin}{path}", headers=headers) as stream:
            assert stream.status_code == 200
            if end == "revoked":
                face.revoke("ci")
            async for _ in stream.aiter_bytes():
                pass
        assert (await client.post(PING)).status_code == 401
        again = await face.owner.http.get(f"{face.origin}{path}", headers=headers)

    assert again.status_code == 401
    assert again.headers["www-authenticate"].startswith("Bearer")


async def test_a_call_that_waits_for_its_server_is_not_run_for_a_token_that_was_revoked(tmp_path: Path) -> None:
    ended = asyncio.Event()

    async def hold(seen: Seen, out: Out) -> None:
        if called_by(seen) == "get_file":
            await ended.wait()
        await answer(seen, out)

    async with named_token_face(tmp_path, maxCallsPerServer=1) as face, asyncio.timeout(BOUND_SECONDS):
        client = await face.client(face.made("ci")).open("modern")
        assert await ran(client, "write_file") == "ran write_file"
        face.server.answer = hold
        busy = asyncio.create_task(ran(face.owner, "get_file"))
        await face.server.until(lambda: "get_file" in map(called_by, face.server.seen))
        call = asyncio.create_task(ran(client, "delete_file"))
        for _ in range(3):  # by then it waits
            await asked(face.owner, "list_mcp_servers")
        face.revoke("ci")
        ended.set()
        assert await busy == "ran get_file"
        await asyncio.wait({call})

        assert "delete_file" not in map(called_by, face.server.seen)


def called_by(seen: Seen) -> str:
    """The tool that a request to the server runs."""
    return str(seen.message["params"]["name"]) if seen.rpc == "tools/call" else ""


async def test_nothing_but_a_whole_token_is_one(tmp_path: Path) -> None:
    async with named_token_face(tmp_path) as face:
        token = face.made("ci")
        other = face.made("other")
        kept = face.tokens.all()[0]
        guesses = [
            token[:-1],
            f"{token}x",
            token.upper(),
            f"tc_{kept.id}_",
            f"tc_{kept.id}_{kept.sha256}",
            kept.sha256,
            f"tc_{kept.id}_{other[14:]}",
            "tc_",
        ]
        statuses = [(await face.client(guess).post(PING)).status_code for guess in guesses]
        good = (await face.client(token).post(PING)).status_code

    assert statuses == [401] * len(guesses)
    assert good != 401


async def test_a_named_token_is_for_the_endpoint_and_not_for_the_pages_beside_it(tmp_path: Path) -> None:
    async with named_token_face(tmp_path) as face:
        token = face.made("ci")
        bearer = {"authorization": f"Bearer {token}"}
        statuses = {
            path: (await face.owner.http.get(f"{face.origin}{path}", headers=bearer)).status_code
            for path in ("/metrics", "/peers", "/health")
        }
        owner = await face.owner.http.get(
            f"{face.origin}/peers", headers={"authorization": f"Bearer {face.owner.token}"}
        )

    assert statuses == {"/metrics": 403, "/peers": 403, "/health": 200}
    assert owner.status_code != 403


async def test_a_token_file_that_others_could_have_written_admits_nobody(tmp_path: Path) -> None:
    async with named_token_face(tmp_path) as face:
        token, file = face.made("ci"), Paths.of(os.environ).named_tokens
        assert (await face.client(token).post(PING)).status_code != 401
        file.chmod(0o666)
        assert (await face.client(token).post(PING)).status_code == 503
        file.write_text("not JSON")
        file.chmod(0o600)
        assert (await face.client(token).post(PING)).status_code == 503
        with pytest.raises(StoreUnavailable):
            TokenFile(file).all()


async def test_a_token_that_can_not_be_checked_is_not_called_invalid(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with named_token_face(tmp_path) as face:
        token, file = face.made("ci"), Paths.of(os.environ).named_tokens
        kept = file.read_bytes()
        file.write_bytes(kept[:-1])
        refused = [await face.client(given).post(PING) for given in (token, token, f"{token}x")]
        complaints = [record.getMessage() for record in caplog.records if "named token" in record.getMessage()]
        file.write_bytes(kept)
        again = await ran(face.client(token), "get_file")

    assert [(answer.status_code, answer.json()) for answer in refused] == [
        (503, {"error": "no token can be checked at the moment; the log of this server says why"})
    ] * 3
    assert len(complaints) == 1
    assert f"the tokens in {file} can't be read" in complaints[0]
    assert again == "ran get_file"


async def test_a_call_is_written_down_with_the_name_of_its_token(tmp_path: Path) -> None:
    async with named_token_face(tmp_path) as face:
        await ran(face.client(face.made("ci")), "get_file")

    assert "token ci" in Paths.of(os.environ).audit_log.read_text()


async def test_tokens_of_a_later_version_may_not_do_more_than_was_meant(tmp_path: Path) -> None:
    async with named_token_face(tmp_path) as face:
        token, file = face.made("ci"), Paths.of(os.environ).named_tokens
        assert (await face.client(token).post(PING)).status_code != 401
        kept = json.loads(file.read_bytes())
        kept["version"] += 1
        kept["tokens"][0]["neverOnSundays"] = True
        file.write_text(json.dumps(kept))
        assert (await face.client(token).post(PING)).status_code == 503


def test_two_programs_that_make_tokens_at_once_keep_both(tmp_path: Path) -> None:
    face = Face(Bare(None, ""), None, TokenFile(tmp_path / "tokens.json"))  # type: ignore[arg-type]
    face.made("one")
    other = Face(face.owner, face.server, TokenFile(tmp_path / "tokens.json"))
    other.made("two")
    face.made("three")

    assert [token.name for token in other.tokens.all()] == ["one", "two", "three"]

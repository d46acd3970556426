"""Tokens of an issuer in place of the token file: which are good, whom they let in, and what becomes of them."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from pydantic import AnyUrl

from tests.journeys.http_gateway import write_config
from tests.server.http_face import ACCEPT, Bare
from tests.server.slow_upstream import SlowServer
from tests.server.token_issuer import FOREIGN, KEYS, Issuer, listening, public
from tests.signin.authority import Authority, Grant
from tests.upstream.http_servers import Script, serve
from toolcrib.cli.greeting import Greeting
from toolcrib.cli.terminal import Terminal
from toolcrib.config.paths import Paths
from toolcrib.engine.issuer_documents import IssuerDocuments
from toolcrib.errors import ConfigurationError
from toolcrib.server import key_set
from toolcrib.server.jwt_check import TokenCheck, TokenRefused, public_keys
from toolcrib.server.key_set import ASK_AGAIN_SECONDS, KeySet, KeysUnavailable
from toolcrib.upstream.sdk_provider import FlowStorage

BOUND_SECONDS = 10.0
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@asynccontextmanager
async def guarded(folder: Path, *, servers: Any = None, **auth: Any) -> AsyncIterator[tuple[Issuer, Bare]]:
    """An issuer, and a gateway that asks for its tokens."""
    issuer = Issuer()
    async with issuer.serving():
        config = write_config(folder, servers or {}, http={"auth": {"issuer": issuer.address, **auth}})
        async with listening(config, folder / "token") as face:
            issuer.audience = auth.get("audience", face.url)
            yield issuer, face


async def status_of(face: Bare, token: str) -> int:
    """What a request with this token gets: 400 comes from behind the guard, as the session is missing."""
    return (await replace(face, token=token).post(PING)).status_code


LET_IN = 400

Forged = Callable[[Issuer], str]


def at(seconds: int) -> int:
    """A time that many seconds from now."""
    return int(time.time()) + seconds


def signed_with_public_key(issuer: Issuer) -> str:
    """The oldest trick: a shared-secret signature whose secret is the public key."""
    secret = KEYS["rsa"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head, body, _ = issuer.token().split(".")
    head = _part({"alg": "HS256", "kid": "rsa"})
    algorithm = jwt.get_algorithm_by_name("HS256")
    signature = algorithm.sign(f"{head}.{body}".encode(), secret)
    return f"{head}.{body}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def _part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


REFUSED: dict[str, tuple[Forged, str]] = {
    "another audience": (lambda issuer: issuer.token(aud="https://other.example/mcp"), "for somebody else"),
    "the same host, another port": (lambda issuer: issuer.token(aud="http://127.0.0.1:1/mcp"), "for somebody else"),
    "no audience": (lambda issuer: issuer.token(aud=None), "can't be verified"),
    "another issuer": (lambda issuer: issuer.token(iss="https://evil.example"), "of another issuer"),
    "the issuer with a slash": (lambda issuer: issuer.token(iss=f"{issuer.address}/"), "of another issuer"),
    "no issuer": (lambda issuer: issuer.token(iss=None), "can't be verified"),
    "expired": (lambda issuer: issuer.token(exp=at(-120)), "has expired"),
    "never expires": (lambda issuer: issuer.token(exp=None), "can't be verified"),
    "not yet": (lambda issuer: issuer.token(nbf=at(600)), "not valid yet"),
    "nobody's": (lambda issuer: issuer.token(sub=None, client_id=None), "whose it is"),
    "signed by somebody else": (lambda issuer: issuer.token(key=FOREIGN), "can't be verified"),
    "signed with an unknown key": (lambda issuer: issuer.token(key=FOREIGN, kid="new"), "does not have"),
    "no key named among several": (lambda issuer: issuer.token(kid=None), "does not have"),
    "the key of another kind": (lambda issuer: issuer.token(kid="ec"), "can't be verified"),
    "not signed": (lambda issuer: not_signed(issuer.token()), "can't be verified"),
    "signed with the public key": (signed_with_public_key, "can't be verified"),
    "changed": (lambda issuer: changed(issuer.token()), "can't be verified"),
    "wants more than we know": (lambda issuer: wants_more(issuer.token()), "can't be verified"),
    "too long": (lambda issuer: issuer.token(more="x" * 20_000), "too long"),
    "no token at all": (lambda issuer: "token", "can't be verified"),
}


def not_signed(token: str) -> str:
    return f"{_part({'alg': 'none', 'kid': 'rsa'})}.{token.split('.')[1]}."


def changed(token: str) -> str:
    head, body, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    return f"{head}.{_part({**claims, 'sub': 'bob'})}.{signature}"


def wants_more(token: str) -> str:
    claims = jwt.decode(token, options={"verify_signature": False})
    return jwt.encode(claims, KEYS["rsa"], "RS256", headers={"kid": "rsa", "crit": ["exp2"], "exp2": 1})


async def test_a_token_for_another_audience_is_refused_as_is_every_other_that_is_not_good(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (issuer, face):
        assert await status_of(face, issuer.token()) == LET_IN
        for name, (forged, reason) in REFUSED.items():
            answer = await replace(face, token=forged(issuer)).post(PING)
            assert (answer.status_code, name) == (401, name)
            assert reason in answer.json()["error"], name
            challenge = answer.headers["www-authenticate"]
            assert challenge.startswith('Bearer error="invalid_token", error_description="'), name
            assert f'resource_metadata="{metadata_url(face)}"' in challenge, name


def metadata_url(face: Bare) -> str:
    return face.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")


async def test_good_tokens_of_all_kinds_are_let_in(tmp_path: Path) -> None:
    async with guarded(tmp_path, audience="https://crib.example/mcp") as (issuer, face):
        good = [
            issuer.token(),
            issuer.token(aud=["https://other.example", "https://crib.example/mcp"]),
            issuer.token(algorithm="PS384"),
            issuer.token(key=KEYS["ec"], algorithm="ES256", kid="ec"),
            issuer.token(key=KEYS["ed"], algorithm="EdDSA", kid="ed"),
            issuer.token(exp=at(-30)),
            issuer.token(sub=None),
        ]
        assert [await status_of(face, token) for token in good] == [LET_IN] * len(good)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60), st.integers(0, 3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
async def test_whatever_is_sent_as_a_token_is_refused_in_the_same_way(text: str, place: int) -> None:
    issuer = Issuer(address="https://issuer.example", audience="here")
    parts = issuer.token().split(".")
    parts.insert(place, text)

    async def fetch() -> Any:
        return public_keys(issuer.keys)

    check = TokenCheck(KeySet(fetch, 60.0), issuer.address, lambda: "here")
    for forged in (text, ".".join(parts), ".".join([*parts[:place], text, *parts[place + 2 :]])):
        with pytest.raises(TokenRefused):
            await check(forged)


async def test_without_a_token_a_client_hears_where_to_get_one_and_the_token_file_does_not_count(
    tmp_path: Path,
) -> None:
    (tmp_path / "token").write_text("the-old-token")
    async with guarded(tmp_path, scopes=["tools", "more"]) as (issuer, face):
        answer = await face.post(PING)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == (
            f'Bearer resource_metadata="{metadata_url(face)}", scope="tools more"'
        )
        assert await status_of(face, "the-old-token") == 401
        for url in (metadata_url(face), metadata_url(face).removesuffix("/mcp")):
            told = (await face.http.get(url)).json()
            assert told == {
                "resource": face.url,
                "authorization_servers": [issuer.address],
                "bearer_methods_supported": ["header"],
                "scopes_supported": ["tools", "more"],
            }
        assert (await face.http.get(metadata_url(face), headers={"host": "evil.example"})).status_code == 421


async def test_every_page_asks_for_such_a_token(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (_, face):
        origin = face.url.removesuffix("/mcp")
        for path in ("/peers", "/p2p/info", "/metrics", "/sse", "/messages", "/anything"):
            assert (await face.http.get(f"{origin}{path}")).status_code == 401, path
        assert (await face.http.get(f"{origin}/health")).status_code == 200


async def test_a_token_that_lacks_a_scope_is_told_which_are_needed(tmp_path: Path) -> None:
    enough: list[Any] = [{"scope": "more tools"}, {"scp": ["tools", "more"]}, {"scp": "tools more"}]
    too_little: list[Any] = [{}, {"scope": "tools"}, {"scope": "toolsmore"}, {"scp": {"tools": 1}}]
    async with guarded(tmp_path, scopes=["tools", "more"]) as (issuer, face):
        assert [await status_of(face, issuer.token(**claims)) for claims in enough] == [LET_IN] * 3
        for claims in too_little:
            answer = await replace(face, token=issuer.token(**claims)).post(PING)
            assert answer.status_code == 403
            assert answer.headers["www-authenticate"] == (
                f'Bearer error="insufficient_scope", resource_metadata="{metadata_url(face)}", scope="tools more"'
            )


# -- who it is


async def test_a_session_is_of_no_use_to_anybody_else(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (issuer, face):
        ann = await replace(face, token=issuer.token()).open("legacy")
        assert (await ann.post(PING)).status_code == 200
        for other in ({"sub": "bob"}, {"client_id": "another"}):
            thief = replace(ann, token=issuer.token(**other))
            assert (await thief.post(PING)).status_code == 404
            headers = {**ACCEPT, "authorization": f"Bearer {thief.token}", **ann.session}
            assert (await face.http.delete(face.url, headers=headers)).status_code == 404
        assert (await replace(ann, token=issuer.token(exp=at(999))).post(PING)).status_code == 200


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_what_is_kept_for_one_person_is_not_read_by_another_whatever_they_call_themselves(
    tmp_path: Path, era: str
) -> None:
    slow = SlowServer()
    slow.go.set()
    async with serve(Script(slow)) as far, guarded(tmp_path, servers={"far": {"url": far}}) as (issuer, face):
        ann = await replace(face, token=issuer.token()).open(era)
        *_, answer = await ann.execute("far", "slow", {"say": "secret " * 20_000})
        handle = json.loads(answer["result"]["content"][0]["text"])["handle"]
        bob = await replace(face, token=issuer.token(sub="bob")).open(era)
        (theirs,) = await bob.execute("toolcrib", "read_result", {"handle": handle})
        (own,) = await ann.execute("toolcrib", "read_result", {"handle": handle})
    assert "RESULT_EXPIRED" in theirs["result"]["content"][0]["text"]
    assert "secret" in own["result"]["content"][0]["text"]


async def test_the_audit_log_names_the_person(tmp_path: Path) -> None:
    slow = SlowServer()
    slow.go.set()
    async with serve(Script(slow)) as far, guarded(tmp_path, servers={"far": {"url": far}}) as (issuer, face):
        for era, sub in (("legacy", "ann"), ("modern", "bob\n{}")):
            client = await replace(face, token=issuer.token(sub=sub)).open(era)
            await client.execute("far", "slow", {})
    lines = Paths.of(os.environ).audit_log.read_text(encoding="utf-8").splitlines()
    first, second = (json.loads(line)["caller"] for line in lines)
    assert first == "bare for ann"
    assert second.startswith("bare for bob")


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_clients_token_never_goes_upstream_nor_into_a_log_or_a_file(
    tmp_path: Path, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "mcp")
    caplog.set_level("DEBUG", "toolcrib")
    slow = SlowServer()
    slow.go.set()
    script = Script(slow)
    async with serve(script) as far, guarded(tmp_path, servers={"far": {"url": far}}) as (issuer, face):
        token = issuer.token()
        client = await replace(face, token=token).open(era)
        *_, answer = await client.execute("far", "slow", {})
        assert "done" in answer["result"]["content"][0]["text"]
    assert len(script.of("tools/call")) == 1
    told = [*script.seen, *issuer.script.seen]
    assert not [seen for seen in told if token in str(seen.headers) or token.encode() in seen.body]
    assert not [seen for seen in told if "authorization" in seen.headers]
    assert token not in caplog.text
    files = [file for file in Path(os.environ["TOOLCRIB_HOME"]).rglob("*") if file.is_file()]
    assert len(files) > 1
    assert not [file for file in files if token.encode() in file.read_bytes()]


# -- keys


async def test_keys_are_fetched_once_and_kept_in_an_outage(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with guarded(tmp_path, jwksTtl=0.01) as (issuer, face):
        issuer.slow = asyncio.Event()
        waiting = [asyncio.create_task(status_of(face, issuer.token(sub=f"p{n}"))) for n in range(8)]
        await issuer.script.until(lambda: bool(issuer.script.seen))
        issuer.slow.set()
        assert await asyncio.gather(*waiting) == [LET_IN] * 8
        assert issuer.fetches == 1
        issuer.down = 503
        assert [await status_of(face, issuer.token()) for _ in range(3)] == [LET_IN] * 3


async def test_an_outage_before_the_first_key_is_no_reason_to_sign_in_again(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (issuer, face):
        issuer.down = 503
        answer = await replace(face, token=issuer.token()).post(PING)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert "www-authenticate" not in answer.headers
        issuer.down = None
        async with asyncio.timeout(10):
            while await status_of(face, issuer.token()) != LET_IN:
                pass


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Published:
    """The keys of an issuer by their ids; None while it can't be reached."""

    def __init__(self, *ids: str) -> None:
        self.ids: tuple[str, ...] | None = ids
        self.fetches = 0

    async def fetch(self) -> list[Any]:
        self.fetches += 1
        if self.ids is None:
            raise ConnectionError("out of order")
        return [type("Key", (), {"id": id}) for id in self.ids]


async def test_a_new_key_is_noticed_and_unknown_ones_do_not_flood_the_issuer() -> None:
    clock, published = Clock(), Published("a")
    keys = KeySet(published.fetch, 600.0, clock)
    assert await keys.find("a") is not None
    published.ids = ("a", "b")
    for _ in range(100):
        assert await keys.find("b") is None
    assert published.fetches == 1
    clock.now = ASK_AGAIN_SECONDS
    assert (await keys.find("b")).id == "b"
    for _ in range(100):
        assert await keys.find("c") is None
    assert published.fetches == 2


async def test_a_key_that_was_withdrawn_is_of_no_use_once_the_others_are_old() -> None:
    clock, published = Clock(), Published("a", "b")
    keys = KeySet(published.fetch, 600.0, clock)
    assert await keys.find("b") is not None
    published.ids = ("a",)
    clock.now = 600
    assert await keys.find("b") is None
    assert (await keys.find(None)).id == "a"


async def test_in_an_outage_a_key_that_may_be_new_is_not_called_unknown() -> None:
    clock, published = Clock(), Published("a")
    keys = KeySet(published.fetch, 600.0, clock)
    assert await keys.find("a") is not None
    published.ids, clock.now = None, 5000.0
    assert (await keys.find("a")).id == "a"
    with pytest.raises(KeysUnavailable):
        await keys.find("b")
    assert published.fetches == 2


async def test_an_issuer_that_hangs_holds_up_nobody_whose_key_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_set, "PATIENCE_SECONDS", 0.05)
    clock, published, hanging = Clock(), Published("a"), asyncio.Event()

    async def fetch() -> list[Any]:
        keys = await published.fetch()
        if published.fetches > 1:
            await hanging.wait()
        return keys

    keys = KeySet(fetch, 600.0, clock)
    assert await keys.find("a") is not None
    clock.now, published.ids = 5000.0, ("a", "b")
    async with asyncio.timeout(BOUND_SECONDS):
        assert [(await keys.find("a")).id for _ in range(20)] == ["a"] * 20
    unknown = asyncio.create_task(keys.find("b"))
    await asyncio.sleep(0)
    hanging.set()
    assert (await unknown).id == "b"
    assert published.fetches == 2


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"issuer": "https://other.example"}, "of another issuer"),
        ({"jwks_uri": None}, "names no keys"),
        ({"jwks_uri": "http://169.254.169.254/keys"}, "is not reached over https"),
        ({"jwks_uri": "https://169.254.169.254/keys"}, "own network only"),
        ({"jwks_uri": "file:///etc/passwd"}, "is not one"),
        ({"jwks_uri": "https://user:word@keys.example/"}, "name or password"),
    ],
    ids=str,
)
async def test_keys_are_not_fetched_from_wherever_the_metadata_says(metadata: dict[str, Any], reason: str) -> None:
    issuer = Issuer(metadata=metadata)
    async with issuer.serving():
        with pytest.raises(ConnectionError, match=reason):
            await IssuerDocuments(issuer.address).keys()
    assert issuer.fetches == 0


async def test_a_set_that_never_ends_is_not_read_to_its_end() -> None:
    issuer = Issuer(keys=[public("rsa", KEYS["rsa"], more="x" * 1000)] * 1000)
    async with issuer.serving():
        with pytest.raises(ConnectionError, match="is larger than"):
            await IssuerDocuments(issuer.address).keys()


async def test_a_set_with_odd_keys_gives_those_that_can_be_used() -> None:
    rsa = public("rsa", KEYS["rsa"])
    odd = [
        None,
        {},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "shared"},
        {**rsa, "use": "enc", "kid": "for encryption"},
        {**rsa, "alg": "HS256", "kid": "as a secret"},
        {**rsa, "n": "!", "kid": "broken"},
        {**rsa, "kid": 7},
        {"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA", "kid": "other curve"},
        {**rsa, "alg": "PS256", "kid": "fine"},
    ]
    assert [(key.id, key.algorithms) for key in public_keys(odd)] == [("fine", ("PS256",))]
    assert len(public_keys([rsa] * 500)) == 100


@pytest.mark.parametrize(
    "auth",
    [
        {"issuer": "http://issuer.example"},
        {"issuer": "issuer.example"},
        {"issuer": "https://user:word@issuer.example"},
        {"issuer": "https://issuer.example", "jwksUrl": "http://issuer.example/keys"},
        {"issuer": "https://issuer.example", "audience": 'a"b'},
        {"issuer": "https://issuer.example", "scopes": ["a b"]},
    ],
    ids=str,
)
async def test_settings_that_would_let_in_anybody_or_nobody_are_refused(tmp_path: Path, auth: dict[str, Any]) -> None:
    config = write_config(tmp_path, {}, http={"auth": auth})
    with pytest.raises(ConfigurationError, match=r"http\.auth"):
        async with listening(config, tmp_path / "token"):
            pass


def test_the_person_who_starts_the_gateway_is_told_who_gives_out_tokens(tmp_path: Path) -> None:
    told = io.StringIO()
    greeting = Greeting(
        "http://127.0.0.1:1/mcp", (), tmp_path / "token", {"command": "toolcrib"}, issuer="https://a.example"
    )
    greeting.print(Terminal(told, colour=False, is_live=False))
    assert "bearer token: of https://a.example" in told.getvalue()
    assert "Bearer <the token>" not in told.getvalue()


# -- the official client, from the refusal to the call


class JwtAuthority(Authority):
    """An authorization server whose access tokens are signed by the issuer's key."""

    issuer: Issuer

    def _tokens(self, grant: Grant) -> dict[str, Any]:
        signed = self.issuer.token(iss=self.address, aud=grant.resource, scope=grant.scope)
        return {"access_token": signed, "token_type": "Bearer", "expires_in": 300}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_finds_the_issuer_signs_in_and_calls(tmp_path: Path, mode: str) -> None:
    issuer, authority = Issuer(), JwtAuthority()
    authority.issuer = issuer
    async with issuer.serving(), authority.serving():
        auth = {"issuer": authority.address, "jwksUrl": f"{issuer.address}/keys", "scopes": ["tools"]}
        async with listening(write_config(tmp_path, {}, http={"auth": auth}), tmp_path / "token") as face:
            provider = signing_in(face.url)
            async with httpx2.AsyncClient(auth=provider, timeout=10) as http:
                transport = streamable_http_client(face.url, http_client=http)
                async with Client(transport, mode=mode) as client:
                    result = await client.call_tool("list_mcp_servers", {})
    assert result.is_error is not True
    (asked,) = authority.asked("/authorize")
    assert (asked["resource"], asked["scope"]) == (face.url, "tools")


def signing_in(url: str) -> OAuthClientProvider:
    """The official client's own way to sign in, with a person who agrees at once."""
    came_back: list[AuthorizationCodeResult] = []

    async def visit(address: str) -> None:
        async with httpx2.AsyncClient() as browser:
            location = (await browser.get(address)).headers["location"]
        query = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
        came_back.append(AuthorizationCodeResult(**query))

    async def answer() -> AuthorizationCodeResult:
        return came_back.pop()

    metadata = OAuthClientMetadata(redirect_uris=[AnyUrl("http://127.0.0.1:1/callback")], client_name="official")
    return OAuthClientProvider(url, metadata, FlowStorage(None), visit, answer)

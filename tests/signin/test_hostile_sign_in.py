"""A server or a web page that wants more than a sign-in gives: metadata that leads elsewhere, a callback from nowhere."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from tests.signin.house import House
from tests.signin.people import Browser, signed_in
from tests.upstream.http_servers import Out, Script, Seen, serve
from toolcrib.engine.open_gateway import open_gateway
from toolcrib.errors import AuthenticationFailed, SignInFailed
from toolcrib.model.server import FROM_PROPOSAL, FROM_REGISTRY, GIVEN_AUTH, Origin, RemoteLaunch, ServerSpec
from toolcrib.signin.record import Tokens
from toolcrib.upstream.sign_in_http import SignInHttp


async def reason_of(house: House, browser: Browser | None = None) -> str:
    with pytest.raises(SignInFailed) as failure:
        await signed_in(house, browser)
    assert house.record is None
    return failure.value.reason


async def again(client: httpx2.AsyncClient, url: str) -> tuple[int, str]:
    """What a page says that was asked before; one that is gone by now says as little as one that is not there."""
    try:
        page = await client.get(url)
    except httpx2.HTTPError:
        return 404, ""
    return page.status_code, page.text


INSIDE = (
    "http://169.254.169.254/latest/meta-data",
    "https://169.254.169.254/latest/meta-data",
    "http://metadata.google.internal/token",
    "http://93.184.216.34/token",
    "file:///etc/passwd",
    "https://user:word@auth.example/token",
    "http://127.0.0.1:22/token",
)


@pytest.mark.parametrize("url", INSIDE)
@pytest.mark.parametrize("name", ["token_endpoint", "registration_endpoint", "authorization_endpoint"])
async def test_metadata_that_leads_inside_is_refused(house: House, name: str, url: str) -> None:
    house.authority.metadata_changes = {name: url}
    browser = Browser()
    assert await reason_of(house, browser) == "address"
    assert browser.shown == []
    assert house.authority.requests == []


@pytest.mark.parametrize("url", INSIDE)
async def test_a_refusal_that_leads_inside_is_not_followed(house: House, url: str) -> None:
    house.vault.challenge = f'Bearer resource_metadata="{url}"'
    assert await reason_of(house) == "address"
    assert house.authority.requests == []


async def test_a_service_inside_is_not_asked_for_a_server_outside() -> None:
    places = {"api.example": ["93.184.216.34"], "auth.example": ["10.0.0.7"], "rebound.example": ["127.0.0.1"]}

    async def resolve(host: str, _port: int) -> list[str]:
        return places[host]

    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(200, b"{}")

    script = Script(answer)
    async with serve(script), SignInHttp("https://api.example/mcp", resolve=resolve) as http:
        for url in ("https://auth.example/token", "https://rebound.example/token"):
            with pytest.raises(Exception, match="leads into your own network"):
                await http.post(url, {}, {})
    assert script.seen == []


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://auth.example"},
        {"issuer": None},
        {"token_endpoint": None},
        {"authorization_endpoint": "javascript:alert(1)"},
    ],
)
async def test_metadata_that_contradicts_itself_is_refused(house: House, changes: dict[str, Any]) -> None:
    house.authority.metadata_changes = changes
    browser = Browser()
    await reason_of(house, browser)
    assert browser.shown == []


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_service_that_is_down_is_said_to_be(house: House, status: int) -> None:
    house.authority.down = status
    assert await reason_of(house) == "unavailable"


async def test_a_service_that_does_not_know_pkce_is_refused(house: House) -> None:
    house.authority.metadata_changes = {"code_challenge_methods_supported": ["plain"]}
    browser = Browser()
    assert await reason_of(house, browser) == "no_pkce"
    assert browser.shown == []


async def test_an_answer_of_another_issuer_is_refused(house: House) -> None:
    house.authority.issuer_in_answer = "https://evil.example"
    assert await reason_of(house) == "metadata"
    assert house.authority.asked("/token") == []


async def test_metadata_for_another_server_is_refused(house: House) -> None:
    house.vault.metadata_changes = {"resource": "https://bank.example/mcp"}
    assert await reason_of(house) == "metadata"


async def test_an_endless_answer_is_not_read_to_its_end(house: House) -> None:
    async def answer(_seen: Seen, out: Out) -> None:
        await out.send(200, b'{"issuer": "' + b"x" * 1_000_000)

    async with serve(Script(answer)) as address:
        house.vault.metadata_changes = {"authorization_servers": [address]}
        assert await reason_of(house) == "metadata"


async def test_a_foreign_page_can_not_finish_a_sign_in(house: House) -> None:
    answers: list[tuple[int, str]] = []

    async def visit(url: str) -> None:
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        back = query["redirect_uri"]
        async with httpx2.AsyncClient(follow_redirects=True) as client:
            for attack in (
                f"{back}?code=stolen-code",
                f"{back}?code=stolen-code&state=guessed",
                f"{back}?code=stolen-code&state={query['state'][:-1]}",
                f"{back.removesuffix('/callback')}/other?code=x&state={query['state']}",
                back.removesuffix("/callback"),
            ):
                page = await client.get(attack)
                answers.append((page.status_code, page.text))
            posted = await client.post(f"{back}?code=stolen-code&state={query['state']}")
            answers.append((posted.status_code, posted.text))
            done = await client.get(url)
            assert (done.status_code, "close this page" in done.text) == (200, True)
            answers.append(await again(client, str(done.url)))

    record = await signed_in(house, Browser(visit))
    assert record.tokens is not None
    assert {status for status, _ in answers} == {404}
    assert not any("stolen-code" in text for _, text in answers)
    assert [form["code"] for form in house.authority.asked("/token")] != ["stolen-code"]


@pytest.mark.parametrize("source", [FROM_REGISTRY, FROM_PROPOSAL, GIVEN_AUTH])
async def test_a_registry_server_never_gets_a_token(house: House, source: str) -> None:
    record = house.sign_in()
    assert isinstance(record.tokens, Tokens)
    stranger = ServerSpec("stranger", RemoteLaunch(house.url), origin=Origin(source))
    async with open_gateway(house.configure(), read_due=False) as gateway:
        with pytest.raises(AuthenticationFailed) as refusal:
            await gateway.discovery_service.discover_tools(stranger)
    assert refusal.value.code == "AUTHENTICATION_FAILED"
    assert record.tokens.access not in house.vault.tokens


async def test_a_token_goes_to_the_address_it_was_given_for_and_to_no_other(house: House) -> None:
    house.sign_in()
    more = {"beside": {"url": f"{house.url}/", "type": "http"}, "other": {"url": house.url.replace("/mcp", "/x")}}
    async with open_gateway(house.configure(more=more), read_due=False) as gateway:
        for server in more:
            assert (await gateway.execute_tool(server, "open_drawer", {})).error is not None
    assert house.tokens.access not in house.vault.tokens

"""A sign-in within a call: the client shows the page, the person signs in, and the call goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import msgspec
import pytest

from tests.journeys.http_gateway import connect, gateway_beside
from tests.journeys.stdio_gateway import MODES, execute
from tests.signin.house import House
from toolcrib.gateway import Gateway
from toolcrib.model.asking import Question
from toolcrib.model.call import ExecutionResult

URLS = {"elicitation": {"url": {}}}


class SignsIn:
    """A person whose client shows them addresses; `does` is what they answer, and whether they go there."""

    def __init__(self, does: str = "accept", *, goes: bool = True, after: SignsIn | None = None) -> None:
        self.does = does
        self.goes = goes
        # Somebody who is asked before this one goes there.
        self.after = after
        self.is_asked = asyncio.Event()
        self.asked: list[dict[str, Any]] = []
        self.told: list[Any] = []
        self._going: list[asyncio.Task[None]] = []

    async def ask(self, question: Question) -> Mapping[str, Any]:
        return self._answered(msgspec.json.decode(question.params))

    async def elicited(self, _: Any, params: Any) -> types.ElicitResult:
        given = self._answered(params.model_dump(by_alias=True, exclude_none=True, mode="json"))
        return types.ElicitResult.model_validate(given)

    async def heard(self, message: Any) -> None:
        self.told.append(message)

    def _answered(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(asked)
        self.is_asked.set()
        if self.goes:
            self._going.append(asyncio.create_task(self._go(asked["url"])))
        return {"action": self.does}

    async def _go(self, url: str) -> None:
        if self.after is not None:
            await self.after.is_asked.wait()
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            await browser.get(url)

    @property
    def completed(self) -> list[str]:
        """The questions that are over, as far as the client was told."""
        notices = [one for one in self.told if isinstance(one, types.ElicitCompleteNotification)]
        return [notice.params.elicitation_id for notice in notices]


async def called(gateway: Gateway, person: SignsIn, tool: str = "open_drawer", **how: Any) -> ExecutionResult:
    async with asyncio.timeout(20):
        return await gateway.execute_tool(
            "vault", tool, {"text": "hello"}, ask=person.ask, **{"capabilities": URLS, **how}
        )


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_with_url_elicitation_signs_in_within_the_call(
    house: House, tmp_path: Path, process_environment: Mapping[str, str], mode: str
) -> None:
    person = SignsIn()
    async with gateway_beside(tmp_path, house.configure(), process_environment) as gateway:
        options = {"elicitation_callback": person.elicited, "message_handler": person.heard}
        async with connect(gateway, mode, **options) as client:
            answer = await execute(client, "vault", "open_drawer", text="hello")
            again = await execute(client, "vault", "open_drawer", text="again")

    assert not answer.is_error, answer
    assert '{"text": "hello"}' in str(answer.content)
    assert not again.is_error
    [asked] = person.asked
    assert asked["message"] == "vault wants you to sign in. Open this page of 127.0.0.1."
    assert asked["url"].startswith(f"{house.authority.address}/authorize?")
    assert person.completed == ([asked["elicitationId"]] if mode == "legacy" else [])


async def test_two_sessions_share_one_sign_in(
    house: House, tmp_path: Path, process_environment: Mapping[str, str]
) -> None:
    waits = SignsIn(goes=False)
    goes = SignsIn(after=waits)
    async with (
        gateway_beside(tmp_path, house.configure(), process_environment) as gateway,
        connect(gateway, MODES[0], elicitation_callback=goes.elicited) as old,
        connect(gateway, MODES[1], elicitation_callback=waits.elicited) as new,
    ):
        clients = (new, old)
        answers = await asyncio.gather(*(execute(client, "vault", "open_drawer", text="hello") for client in clients))

    assert ["hello" in str(answer.content) for answer in answers] == [True] * 2
    assert goes.asked[0]["url"] == waits.asked[0]["url"]
    assert len(house.authority.asked("/authorize")) == len(house.authority.asked("/token")) == 1


@pytest.mark.parametrize("does", ["decline", "cancel"])
async def test_a_person_who_does_not_sign_in_leaves_the_command_to_the_error(house: House, does: str) -> None:
    person = SignsIn(does, goes=False)
    async with house.gateway() as gateway:
        refused = await called(gateway, person)
        assert refused.error is not None
        assert (refused.error.code, len(person.asked)) == ("SIGN_IN_REQUIRED", 1)
        assert "toolcrib login vault" in refused.error.hint
        # The page is gone with the call, and the next one asks anew.
        redirect = httpx2.URL(person.asked[0]["url"]).params["redirect_uri"]
        async with httpx2.AsyncClient() as browser:
            with pytest.raises(httpx2.ConnectError):
                await browser.get(redirect)
        assert (await called(gateway, SignsIn())).value == {"text": "hello"}


async def test_a_client_that_shows_no_addresses_is_not_asked(house: House) -> None:
    person = SignsIn()
    async with house.gateway() as gateway:
        for capabilities in ({}, {"elicitation": {}}, {"elicitation": {"form": {}}}):
            refused = await called(gateway, person, capabilities=capabilities)
            assert refused.error is not None
            assert refused.error.code == "SIGN_IN_REQUIRED"
            assert "`toolcrib login vault`" in refused.error.hint
    assert person.asked == []
    assert house.authority.asked("/register") == []


async def test_a_tool_that_needs_more_asks_for_it_once_and_not_again_and_again(house: House) -> None:
    house.vault.tool_scopes = {"delete_all": "write", "wait_for_it": "secret"}
    house.authority.withholds = "secret"
    house.sign_in()
    person = SignsIn()
    async with house.gateway() as gateway:
        assert (await called(gateway, person, "delete_all")).value == {"text": "hello"}
        assert [query["scope"] for query in house.authority.asked("/authorize")] == ["read write"]
        person.asked.clear()
        for _ in range(3):
            refused = await called(gateway, person, "wait_for_it")
            assert refused.error is not None
            assert (refused.error.code, len(person.asked)) == ("SIGN_IN_REQUIRED", 1)


async def test_the_entry_says_what_is_asked_for_as_with_the_command(house: House) -> None:
    async with house.gateway(oauth={"scopes": "read extra"}) as gateway:
        assert (await called(gateway, SignsIn())).value == {"text": "hello"}
    assert [query["scope"] for query in house.authority.asked("/authorize")] == ["read extra"]


async def test_a_sign_in_that_fails_says_why(house: House) -> None:
    house.authority.agrees = False
    async with house.gateway() as gateway:
        failed = await called(gateway, SignsIn())
        assert failed.error is not None
        assert (failed.error.code, failed.error.details["reason"]) == ("SIGN_IN_FAILED", "refused")

        house.authority.registration_status = 403
        person = SignsIn()
        unknown = await called(gateway, person)
        assert unknown.error is not None
        assert (unknown.error.details["reason"], person.asked) == ("registration", [])


async def test_a_code_is_shown_where_the_entry_asks_for_one(house: House) -> None:
    house.authority.offers_device = True
    person = SignsIn(goes=False)
    async with house.gateway(oauth={"grant": "device"}) as gateway:
        assert (await called(gateway, person)).value == {"text": "hello"}
    [asked] = person.asked
    assert asked["url"] == f"{house.authority.address}/activate"
    assert asked["message"].endswith("and type in the code ABCD-EFGH.")

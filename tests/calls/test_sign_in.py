"""When a person is asked to sign in within a call, and when that would make no sense."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.calls.steps import a_call
from tests.fakes import INSTANT, spec
from toolcrib.calls.sign_in import AGAIN_SECONDS, OfferSignIn, SignInPage
from toolcrib.errors import SignInRequired
from toolcrib.model.asking import Conversation, Question
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.server import ServerSpec

DONE = ToolResult(b'{"content":[]}')


@pytest.fixture
def anyio_backend() -> Any:
    return INSTANT


class Client(Conversation):
    def __init__(self) -> None:
        self.capabilities = {"elicitation": {"url": {}}}

    async def ask(self, question: Question) -> bytes:
        return b'{"action":"accept"}'


class SignIns:
    """Sign-ins that take no time; `last` is when the latest was made."""

    def __init__(self) -> None:
        self.last = -math.inf
        self.begun_with: list[str] = []

    def done_at(self, _: ServerSpec, __: str) -> float:
        return self.last

    @asynccontextmanager
    async def begun(self, _: ServerSpec, scopes: str) -> AsyncIterator[SignInPage]:
        async def finished() -> None:
            self.last = asyncio.get_running_loop().time()

        self.begun_with.append(scopes)
        yield SignInPage("https://auth.example/authorize", finished)


class Vault:
    """A server that refuses so many calls; something may happen while it does."""

    def __init__(self, refusals: int, *, needs_more: bool = False, meanwhile: Any = lambda: None) -> None:
        self.refusals = refusals
        self.needs_more = needs_more
        self.meanwhile = meanwhile

    async def __call__(self, _: ToolCall) -> ToolResult:
        await asyncio.sleep(1)
        if self.refusals == 0:
            return DONE
        self.refusals -= 1
        self.meanwhile()
        raise SignInRequired("no", server="files", scopes="read write", needs_more=self.needs_more)


async def called(sign_ins: SignIns, vault: Vault) -> tuple[ToolResult, Client]:
    client = Client()
    step = OfferSignIn(sign_ins, lambda _: spec(), lambda: 60)
    return await step(a_call().but(conversation=client), call_next=vault), client


@pytest.mark.parametrize("needs_more", [True, False])
async def test_only_a_tool_that_needs_more_says_which_scopes_are_asked_for(needs_more: bool) -> None:
    sign_ins = SignIns()
    result, client = await called(sign_ins, Vault(1, needs_more=needs_more))

    assert (result, client.questions, client.open_questions) == (DONE, 1, 0)
    assert sign_ins.begun_with == (["read write"] if needs_more else [""])


async def test_a_sign_in_that_somebody_made_meanwhile_needs_no_question() -> None:
    sign_ins = SignIns()

    def signed_in() -> None:
        sign_ins.last = asyncio.get_running_loop().time()

    result, client = await called(sign_ins, Vault(1, meanwhile=signed_in))

    assert (result, client.questions, sign_ins.begun_with) == (DONE, 0, [])


async def test_one_call_asks_once_and_the_next_ones_not_before_a_minute_has_passed() -> None:
    sign_ins = SignIns()
    for asked in (1, 1, 1):
        with pytest.raises(SignInRequired):
            await called(sign_ins, Vault(2))
        assert len(sign_ins.begun_with) == asked
    await asyncio.sleep(AGAIN_SECONDS)
    assert (await called(sign_ins, Vault(1)))[0] is DONE

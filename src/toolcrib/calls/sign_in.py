"""A server that wants a sign-in: where the client can show an address, the person signs in within the call."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from toolcrib.calls.chain import CallTool
from toolcrib.errors import SignInRequired
from toolcrib.model.asking import (
    AN_ADDRESS,
    ELICITATION,
    Conversation,
    Question,
    QuestionRefused,
    accepts,
    can_answer,
    counted,
)
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.clean_text import clean
from toolcrib.model.server import ServerSpec
from toolcrib.wire.protocol import ELICITATION_COMPLETE

# A server that wants the same sign-in again so soon would want it for ever.
AGAIN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class SignInPage:
    """Where a person signs in, with the code that they type in there, if it needs one."""

    url: str
    finished: Callable[[], Awaitable[Any]]
    """Returns once they did; raises SignInFailed."""
    code: str = ""


class SignIns(Protocol):
    """Whoever leads people through sign-ins."""

    def done_at(self, spec: ServerSpec, scopes: str) -> float:
        """When somebody made this sign-in within a call, by the clock of the event loop; long ago where nobody did."""

    def begun(self, spec: ServerSpec, scopes: str) -> AbstractAsyncContextManager[SignInPage]:
        """A sign-in, which all who want the same one share; it ends unfinished with the last of them. Raises SignInFailed."""


class OfferSignIn:
    """Asks the person to sign in, then calls once more; whoever can't be asked is told the command."""

    def __init__(
        self, sign_ins: SignIns, spec_of: Callable[[str], ServerSpec | None], answer_seconds: Callable[[], float]
    ) -> None:
        self._sign_ins = sign_ins
        self._spec_of = spec_of
        self._answer_seconds = answer_seconds

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        started = asyncio.get_running_loop().time()
        try:
            return await call_next(call)
        except SignInRequired as needed:
            client, spec = call.conversation, self._spec_of(call.server)
            if client is None or spec is None or not can_answer(client.capabilities, AN_ADDRESS):
                raise
            # For any other sign-in the entry and the server say what to ask for, as with the command.
            scopes = needed.scopes if needed.needs_more else ""
            done_at = self._sign_ins.done_at(spec, scopes)
            if done_at < started and not await self._signed_in(client, spec, scopes, done_at):
                needed.hint = f"Nobody signed in just now. {needed.hint}"
                raise
        return await call_next(call)

    async def _signed_in(self, client: Conversation, spec: ServerSpec, scopes: str, done_at: float) -> bool:
        """Whether the person wanted to sign in, and did; they are not asked for the same again and again."""
        if asyncio.get_running_loop().time() - done_at < AGAIN_SECONDS:
            return False
        async with self._sign_ins.begun(spec, scopes) as page:
            elicitation_id = secrets.token_hex(8)
            if not await self._is_agreed(client, _question(spec.name, page, elicitation_id)):
                return False
            await page.finished()
        client.tell(ELICITATION_COMPLETE, msgspec.json.encode({"elicitationId": elicitation_id}))
        return True

    async def _is_agreed(self, client: Conversation, question: Question) -> bool:
        try:
            with counted(client):
                async with asyncio.timeout(self._answer_seconds()):
                    answer = await client.ask(question)
        except (QuestionRefused, TimeoutError):
            return False
        return accepts(answer)


def _question(server: str, page: SignInPage, elicitation_id: str) -> Question:
    """Our own question; the address was judged where the sign-in began."""
    message = f"{server} wants you to sign in. Open this page of {clean(urlsplit(page.url).hostname or '')}"
    message += f" and type in the code {clean(page.code)}." if page.code else "."
    params = {"mode": "url", "message": message, "url": page.url, "elicitationId": elicitation_id}
    return Question(server, ELICITATION, msgspec.json.encode(params))

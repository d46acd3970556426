"""A person agrees to a call before it is sent, where the settings want that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NoReturn

from toolcrib.calls.chain import CallTool
from toolcrib.calls.confirm_form import A_FORM, answer_of, question
from toolcrib.calls.confirmed_rounds import ConfirmedRounds
from toolcrib.calls.consents import Consent, Consents, consent_of
from toolcrib.calls.question_rules import SESSION
from toolcrib.errors import CallDeclined, ConfirmationRequired
from toolcrib.model.asking import Conversation, QuestionRefused, can_answer, counted
from toolcrib.model.call import Target, ToolCall, ToolResult
from toolcrib.model.effect import Confirm as Mode
from toolcrib.model.effect import is_asked_about


class Confirm:
    """Asks the client that calls; where nobody can be asked the call is refused, and the answer says what to do."""

    def __init__(
        self,
        mode: Callable[[], Mode],
        answer_seconds: Callable[[], float],
        monotonic: Callable[[], float],
        *,
        look_again: Callable[[ToolCall], Awaitable[None]],
    ) -> None:
        self._mode = mode
        # Raises where the call may not be sent any more, or is for another definition by now.
        self._look_again = look_again
        self._answer_seconds = answer_seconds
        self._consents = Consents()
        self._rounds = ConfirmedRounds(monotonic)

    async def __call__(self, call: ToolCall, *, call_next: CallTool) -> ToolResult:
        if call.target is None or not self._needs_a_person(call.target):
            return await call_next(call)
        # A changed definition is another tool: nobody has agreed to that one.
        consent = consent_of(call, call.target.tool.name, call.target.tool.fingerprint)
        await self._ask(call, call.target, consent)
        result = await call_next(call)
        if not result.is_complete:
            self._rounds.open(consent, call, result.member("requestState"))
        return result

    def _needs_a_person(self, target: Target) -> bool:
        # What the built-in tools change is decided by a person later.
        if target.confirm is not None or target.spec is None:
            return bool(target.confirm)
        return is_asked_about(target.tool.effect, target.spec.confirm or self._mode())

    async def _ask(self, call: ToolCall, target: Target, consent: Consent) -> None:
        """Return once a person has agreed; raises ConfirmationRequired, CallDeclined or ServerMovedOn."""
        # A call that goes on after an interim result was agreed to when it began.
        goes_on = self._rounds.take(consent, call)
        if not (goes_on or call.is_confirmed or (consent in self._consents and call.caller.session)):
            client = call.conversation
            if client is None or not can_answer(client.capabilities, A_FORM):
                _refuse(call, target)
            if await self._answer(client, call, target) == SESSION:
                self._consents.add(consent)
            # Thinking takes a while: the tool may have changed meanwhile, or be off.
            await self._look_again(call)
        call.notes.decision = "confirmed"

    async def _answer(self, client: Conversation, call: ToolCall, target: Target) -> str:
        try:
            with counted(client):
                async with asyncio.timeout(self._answer_seconds()):
                    given = answer_of(await client.ask(question(call, target)))
        except (QuestionRefused, TimeoutError):
            given = ""
        if not given:
            raise CallDeclined(
                f"{target.tool.id} was not run: the person did not agree to it.",
                hint="Do not try it again or in another way. Tell the person what you wanted to do, and ask how to go on.",
            )
        return given


def _refuse(call: ToolCall, target: Target) -> NoReturn:
    effect = target.tool.effect
    why = (
        "a rule, a profile or `trust.onMix` wants that"
        if target.confirm
        else f"it may {'destroy' if effect == 'destructive' else 'change'} something"
    )
    # What a profile wants no rule takes back.
    is_by_profile = any(part.confirm != "never" for part in call.caller.rights.parts)
    other_way = "" if is_by_profile else ", or allow it without a question by a rule with `confirm: false`"
    raise ConfirmationRequired(
        f"{target.tool.id} was not run: a person has to confirm it ({why}), and your client can't ask them.",
        hint=f"Tell the person. They can run it themselves (`toolcrib execute {call.server} {call.tool} …`){other_way}.",
    )

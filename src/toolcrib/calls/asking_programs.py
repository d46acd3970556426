"""A program that uses the library and answers what servers ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from toolcrib.model.asking import Conversation, Question

Ask = Callable[[Question], Awaitable[Mapping[str, Any]]]
"""Gives the result of the request that the question is, or raises QuestionRefused."""


class ProgramConversation(Conversation):
    """Questions go to a function of the program."""

    def __init__(self, ask: Ask, capabilities: Mapping[str, Any]) -> None:
        self._ask = ask
        self.capabilities = capabilities

    async def ask(self, question: Question) -> bytes:
        return msgspec.json.encode(await self._ask(question))

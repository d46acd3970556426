"""Clients that can be asked in the middle of a call, and questions for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from toolcrib.model.asking import Conversation, Question

ACCEPTED = b'{"action":"accept"}'
ALL = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


class Client(Conversation):
    """A client with these capabilities, that answers after so many seconds."""

    def __init__(self, capabilities: Mapping[str, Any], seconds: float = 0) -> None:
        self.capabilities = capabilities
        self.asked: list[Question] = []
        self._seconds = seconds

    async def ask(self, question: Question) -> bytes:
        self.asked.append(question)
        await asyncio.sleep(self._seconds)
        return ACCEPTED


def form(message: str = "Which one?") -> Question:
    return Question("files", "elicitation/create", json.dumps({"message": message}).encode())


ADDRESS = Question("files", "elicitation/create", b'{"mode":"url","url":"https://example.com","message":"Go"}')
PROMPT = Question("files", "sampling/createMessage", b'{"messages":[]}')
FOLDERS = Question("files", "roots/list", b"{}")


class Person(Client):
    """A client whose person answers a request for permission so."""

    def __init__(self, allow: str | None) -> None:
        super().__init__(ALL)
        self._allow = allow

    async def ask(self, question: Question) -> bytes:
        self.asked.append(question)
        if question.kind != "elicitation":
            return b'{"model":"m"}'
        if self._allow is None:
            return b'{"action":"decline"}'
        return json.dumps({"action": "accept", "content": {"allow": self._allow}}).encode()

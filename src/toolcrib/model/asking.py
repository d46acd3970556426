"""What a server asks in the middle of a call, and whoever can answer it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import msgspec

TASKS_EXTENSION = "io.modelcontextprotocol/tasks"
QuestionKind = Literal["elicitation", "sampling", "roots"]
ELICITATION = "elicitation/create"
KIND_OF: Mapping[str, QuestionKind] = {
    ELICITATION: "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


class _Mode(msgspec.Struct):
    mode: Any = "form"


_mode = msgspec.json.Decoder(_Mode).decode


@dataclass(frozen=True, slots=True)
class Question:
    """A request of a server to the client whose call it runs; `params` is the server's own JSON."""

    server: str
    method: str
    params: bytes

    @property
    def kind(self) -> QuestionKind:
        return KIND_OF[self.method]

    @property
    def is_url(self) -> bool:
        """Whether a person is asked to open an address, and not to fill in a form."""
        try:
            return self.kind == "elicitation" and _mode(self.params).mode == "url"
        except (msgspec.DecodeError, RecursionError):
            return False


# A question about an address, to see whether a client could answer one.
AN_ADDRESS = Question("", ELICITATION, b'{"mode":"url"}')


class QuestionRefused(Exception):
    """Nobody answers this question; the server gets `code` and `message` as a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Conversation(Protocol):
    """The client behind a call, while the call runs; `capabilities` is what it declared, with nothing added.

    `was_asked` says whether it has answered a question of this call. One that `takes_rounds` gets a server's interim result
    as it came, answers it, and calls again; for all others that is done by us. One that `knows_url_errors` opens the pages
    that such an error names, and calls again. One that `takes_tasks` waits for the tasks of servers itself. `is_away` says
    that it takes its time over questions and has not come back yet. `questions` is how often it was asked for its call,
    `open_questions` how often without an answer so far: see `counted`.
    """

    capabilities: Mapping[str, Any]
    takes_rounds: bool = False
    knows_url_errors: bool = False
    takes_tasks: bool = False
    was_asked: bool = False
    is_away: bool = False
    questions: int = 0
    open_questions: int = 0

    async def ask(self, question: Question) -> bytes:
        """The client's answer as JSON; raises QuestionRefused."""

    def tell(self, method: str, params: bytes) -> None:  # noqa: ARG002 - for those that can
        """Pass a notification on to the client, where it takes any; one that can't be sent is lost."""
        return


@contextmanager
def counted(client: Conversation) -> Iterator[None]:
    """Count a question to the client of a call, while it is open and later."""
    client.questions += 1
    client.open_questions += 1
    try:
        yield
    finally:
        client.open_questions -= 1


class PassedOn(Conversation):
    """A conversation in front of another one."""

    def __init__(self, client: Conversation) -> None:
        self.client = client
        self.capabilities = client.capabilities
        self.takes_rounds = client.takes_rounds
        self.knows_url_errors = client.knows_url_errors
        self.takes_tasks = client.takes_tasks

    async def ask(self, question: Question) -> bytes:
        answer = await self.client.ask(question)
        self.was_asked = self.client.was_asked
        return answer

    def tell(self, method: str, params: bytes) -> None:
        self.client.tell(method, params)


@dataclass(frozen=True, slots=True)
class InputRound:
    """What a call brings that goes on after an interim result: answers as JSON, and the state that the server gave."""

    responses: bytes | None = None
    state: str | None = None


def can_answer(capabilities: Mapping[str, Any], question: Question) -> bool:
    """Whether a client with these capabilities may be asked: forms need no more than `elicitation`, addresses are said apart."""
    declared = capabilities.get(question.kind)
    if not isinstance(declared, Mapping):
        return False
    if question.kind != "elicitation":
        return True
    return "url" in declared if question.is_url else "form" in declared or "url" not in declared


def accepts(answer: bytes) -> bool:
    """Whether a person agreed to what they were asked."""
    try:
        given = msgspec.json.decode(answer)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(given, dict) and given.get("action") == "accept"


def pages_in(data: object) -> list[Mapping[str, Any]]:
    """The pages that a person has to open first, as the data of such an error (-32042) names them."""
    pages = data.get("elicitations") if isinstance(data, Mapping) else None
    return [page for page in pages if isinstance(page, Mapping)] if isinstance(pages, list) else []


def declares_tasks(capabilities: Mapping[str, Any]) -> bool:
    """Whether a client says that it can wait for tasks."""
    extensions = capabilities.get("extensions")
    return isinstance(extensions, Mapping) and TASKS_EXTENSION in extensions

"""One execution of a tool: the call, what is heard meanwhile, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from toolcrib.errors import ToolcribError
from toolcrib.model.asking import Conversation, InputRound
from toolcrib.model.caller import LIBRARY, Caller
from toolcrib.model.same_content import says_the_same
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool


@dataclass(frozen=True, slots=True)
class Progress:
    """A progress notice of a running call; `params` as the server sent them, less the token."""

    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LogMessage:
    """A log message of a running call; `params` as the server sent them."""

    params: Mapping[str, Any]


CallEvent = Progress | LogMessage
Listener = Callable[[CallEvent], None]


@dataclass(frozen=True, slots=True)
class Target:
    """The tool a call goes to, its name on the server's own side, and that server; None is a built-in tool's."""

    tool: Tool
    upstream_name: str
    spec: ServerSpec | None = None

    @property
    def launch_key(self) -> str:
        return self.tool.server if self.spec is None else self.spec.launch_key


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A question about a task that a server has begun for a call before: `tasks/get`, `tasks/update` or `tasks/cancel`."""

    method: str
    id: str
    responses: bytes | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One execution to be made. `raw_arguments` is the caller's own JSON text, forwarded as it came.

    Servers are asked for progress only where the caller `wants_progress`.
    """

    server: str
    tool: str
    arguments: Mapping[str, Any]
    raw_arguments: bytes
    caller: Caller = LIBRARY
    listener: Listener | None = None
    log_level: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    target: Target | None = None
    wants_progress: bool = False
    # Whom the server may ask something while it works; None where nobody can be asked.
    conversation: Conversation | None = None
    # Set where the call goes on after an interim result of its server.
    round: InputRound | None = None
    # The tool runs as a task only; whoever sends the call says so, and waits for its result.
    as_task: bool = False
    # Set where nothing is called, but the task of a former call is asked about.
    task: TaskRequest | None = None
    # Whether a prompt or a resource is wanted as the server gives it, and not as the result of a tool.
    is_verbatim: bool = False


class _Kind(msgspec.Struct):
    """As much of a content block as tells what it is."""

    type: Any = None


MOST_DIGITS = 4_000
COMPLETE = "complete"
TASK = "task"

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_kinds = msgspec.json.Decoder(list[_Kind]).decode
_open_blocks = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode


@dataclass(frozen=True)
class ToolResult:
    """What a tool answered, kept as the JSON object it came in; decoded only where someone looks."""

    raw: bytes | msgspec.Raw

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> ToolResult:
        return cls(msgspec.json.encode(result))

    @cached_property
    def members(self) -> dict[str, msgspec.Raw]:
        """The top-level members, each still undecoded."""
        return _members(self.raw)

    @property
    def is_object(self) -> bool:
        """Whether this is a JSON object at all; nothing else may be asked of what is not."""
        try:
            return isinstance(self.members, dict)
        except (msgspec.DecodeError, RecursionError):
            return False

    @cached_property
    def result_type(self) -> str:
        """`complete`, unless the server says that this is something else than the tool's result."""
        return str(self.member("resultType")) if "resultType" in self.members else COMPLETE

    @property
    def is_complete(self) -> bool:
        return self.result_type == COMPLETE

    @property
    def is_task(self) -> bool:
        """Whether the server works on it, and has no result yet."""
        return self.result_type == TASK

    def member(self, name: str) -> Any:
        """The value of one member; None also where it can't be decoded."""
        try:
            return _decoded(self.members.get(name, b"null"))
        except (ValueError, RecursionError):
            return None

    @property
    def is_error(self) -> bool:
        return bytes(self.members.get("isError", b"false")) == b"true"

    @cached_property
    def content(self) -> list[dict[str, Any]]:
        """The content blocks; anything that is not a block is left out."""
        blocks = _decoded(self.members.get("content", b"[]"))
        return [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []

    @property
    def structured_json(self) -> bytes | None:
        """The text of `structuredContent`, or None where the server gave none."""
        structured = self.members.get("structuredContent")
        return None if structured is None else bytes(structured)

    @property
    def text(self) -> str:
        """All text blocks, joined by newlines."""
        return "\n".join(self.texts)

    @property
    def has_text(self) -> bool:
        """Whether any block is a text."""
        try:
            return any(block.type == "text" for block in _kinds(self.members.get("content", b"[]")))
        except msgspec.DecodeError:
            return any(block.get("type") == "text" for block in self.content)

    @property
    def only_text(self) -> str | None:
        """The text of the single block, where the result is exactly one text block."""
        if len(self.content) == 1 and self.content[0].get("type") == "text":
            return str(self.content[0].get("text", ""))
        return None

    @property
    def only_text_json(self) -> bytes | None:
        """The same as the JSON string it came in; None also where it can't be told without decoding it."""
        block = self.only_block
        return bytes(block["text"]) if bytes(block.get("type", b"")) == b'"text"' and "text" in block else None

    @cached_property
    def only_block(self) -> Mapping[str, msgspec.Raw]:
        """The members of the single block, each still undecoded; none where there is not exactly one block."""
        try:
            blocks = _open_blocks(self.members.get("content", b"[]"))
        except msgspec.DecodeError:
            return {}
        return blocks[0] if len(blocks) == 1 else {}

    @property
    def texts(self) -> list[str]:
        return [str(block.get("text", "")) for block in self.content if block.get("type") == "text"]

    @property
    def text_repeats_structure(self) -> bool:
        """Whether the text says all that the structured content does."""
        return self.structured_json is not None and says_the_same(self.texts, self.structured_json)

    @cached_property
    def value(self) -> Any:
        """The payload: structured content, else the only text (parsed where it is a JSON object or array), else the blocks."""
        structured = None if self.structured_json is None else _decoded(self.structured_json)
        if structured is not None or (self.structured_json is not None and not self.content):
            return structured
        return self.content if self.only_text is None else _parsed_or_text(self.only_text)


def _decoded(text: bytes | msgspec.Raw) -> Any:
    """The value of JSON a server sent; what the strict decoder refuses (numbers out of range) is let through."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return json.loads(bytes(text), parse_int=_whole_number)


def _whole_number(digits: str) -> float:
    # Python makes no integer of thousands of digits from text: it takes too long.
    return int(digits) if len(digits) < MOST_DIGITS else float(digits)


def _parsed_or_text(text: str) -> Any:
    # A text such as 1.10 or 007 is not taken for a number: it would come out as another text.
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text


@dataclass(frozen=True, slots=True)
class ExecutionError:
    """Why an execution failed, with a stable code and what to do next."""

    code: str
    message: str
    server: str
    tool: str
    hint: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, error: ToolcribError, server: str, tool: str) -> ExecutionError:
        return cls(error.code, error.message, server, tool, error.hint, error.details)


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """The outcome of an execution: a result, an error, or (when the tool itself said it failed) both."""

    result: ToolResult | None = None
    error: ExecutionError | None = None

    @property
    def success(self) -> bool:
        return self.error is None

    @property
    def value(self) -> Any:
        """The payload of a successful execution, else None."""
        return self.result.value if self.result is not None and self.success else None

"""One execution of a tool: the call, what is heard meanwhile, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import msgspec

from toolcrib.errors import ToolcribError
from toolcrib.model.asking import Conversation, InputRound
from toolcrib.model.caller import LIBRARY, Caller, Rights
from toolcrib.model.large_json import SMALL_BYTES, has_few, members_of_large
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
    # Whether a person confirms each call, where a rule says so.
    confirm: bool | None = None

    @property
    def launch_key(self) -> str:
        return self.tool.server if self.spec is None else self.spec.launch_key


@dataclass(slots=True)
class CallNotes:
    """What is found out about a call on its way, for whoever writes it down."""

    effect: str = ""
    decision: str = ""
    fingerprint: str = ""
    # The names of arguments that the tool has.
    parameters: frozenset[str] = frozenset()
    # When it was last looked at whether the call may be made, on the clock of whoever looks.
    looked_at: float = 0.0
    # What it is where it succeeds and is something else than a call.
    deed: str = ""
    # What is suspicious about it or its result: names of rules.
    findings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A question about a task that a server has begun for a call before: `tasks/get`, `tasks/update` or `tasks/cancel`."""

    method: str
    id: str
    responses: bytes | None = None


# A struct, since each step may make another one: that takes a tenth of the time of a dataclass.
class ToolCall(msgspec.Struct, frozen=True):
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
    meta: Mapping[str, Any] = msgspec.field(default_factory=dict)
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
    # Whether the person at the keyboard has agreed to it already.
    is_confirmed: bool = False
    notes: CallNotes = msgspec.field(default_factory=CallNotes)
    # What the caller may use by the time of the question, where that can change while the call waits.
    rights_now: Callable[[], Rights] | None = None
    # Raises ServerMovedOn where the call may not be sent any more; whoever sends it asks last of all.
    look_again: Callable[[ToolCall], Awaitable[None]] | None = None

    def caller_now(self) -> Caller:
        """The caller with those of its rights that it still has."""
        if self.rights_now is None:
            return self.caller
        return replace(self.caller, rights=self.caller.rights.and_also(self.rights_now()))

    def but(self, **changes: Any) -> ToolCall:
        """The same call with something else in it; its notes are the same, too."""
        return msgspec.structs.replace(self, **changes)


class _Kind(msgspec.Struct):
    """As much of a content block as tells what it is."""

    type: Any = None


class _Text(_Kind):
    """As much of a content block as its words."""

    text: msgspec.Raw = msgspec.Raw(b'""')


MOST_DIGITS = 1_000
COMPLETE = "complete"
TASK = "task"
_MOST_KIND_BYTES = 1_024
_TEXT = msgspec.Raw(b'"text"')
# A block with nothing but a text, without spaces.
_BESIDE_TEXT = len('[{"type":"text","text":}]')

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_kinds = msgspec.json.Decoder(list[_Kind]).decode
_text_blocks = msgspec.json.Decoder(list[_Text]).decode
# Stops at the second block, however many there are.
_single_block = msgspec.json.Decoder(tuple[_Text]).decode
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
        return _members(self.raw) if len(self.raw) <= SMALL_BYTES else members_of_large(self.raw)

    @property
    def is_object(self) -> bool:
        """Whether this is a JSON object at all; nothing else may be asked of what is not."""
        try:
            return isinstance(self.members, dict)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False

    @cached_property
    def result_type(self) -> str:
        """`complete`, unless the server says that this is something else than the tool's result."""
        kind = self.members.get("resultType")
        if kind is not None and len(kind) > _MOST_KIND_BYTES:
            return bytes(kind)[:_MOST_KIND_BYTES].decode("utf-8", "replace")
        return COMPLETE if kind is None else str(self.member("resultType"))

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

    @property
    def is_one_text(self) -> bool:
        """Whether the content is a single text, as most is."""
        block = self.only_block
        return bytes(block.get("type", b"")) == b'"text"' and bytes(memoryview(block.get("text", b""))[:1]) == b'"'

    @cached_property
    def only_block(self) -> Mapping[str, msgspec.Raw]:
        """The members of the single block, each still undecoded; none where there is not exactly one block, or much beside its text."""
        content = self.members.get("content", b"[]")
        try:
            blocks = _open_blocks(content) if has_few(content, b":") else _one_large_text(content)
        except msgspec.DecodeError:
            return {}
        return blocks[0] if len(blocks) == 1 else {}

    @property
    def texts(self) -> list[str]:
        """The words of each text block; what is beside them in a block is not decoded."""
        try:
            blocks = _text_blocks(self.members.get("content", b"[]"))
        except msgspec.DecodeError:
            return [str(block.get("text", "")) for block in self.content if block.get("type") == "text"]
        return [str(_decoded(block.text)) for block in blocks if block.type == "text"]

    @property
    def text_repeats_structure(self) -> bool:
        """Whether the text says all that the structured content does; what is too large to compare counts as something else."""
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


def _one_large_text(content: bytes | msgspec.Raw) -> list[dict[str, msgspec.Raw]]:
    """The block of large content, with little beside its text; raises DecodeError where there is not exactly one."""
    (block,) = _single_block(content)
    beside = len(content) - len(block.text)
    if beside == _BESIDE_TEXT and block.type == "text":
        return [{"type": _TEXT, "text": block.text}]
    return _open_blocks(content) if beside <= SMALL_BYTES else []


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

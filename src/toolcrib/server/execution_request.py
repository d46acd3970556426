"""The arguments of `execute_tool`, in every form agents give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from toolcrib.errors import ValidationError
from toolcrib.model.tool import split_id
from toolcrib.wire.jsonrpc import on_one_line

OWN_NAMES = frozenset({"server", "tool", "arguments"})


class _Asked(msgspec.Struct, forbid_unknown_fields=True):
    server: str
    tool: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


_asked = msgspec.json.Decoder(_Asked, strict=False).decode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(frozen=True, slots=True)
class ExecutionRequest:
    """Which tool to run with what: `raw` is the caller's own JSON. `beside` are members that stand beside server and tool."""

    server: str
    tool: str
    raw: bytes
    arguments: Mapping[str, Any]
    beside: Mapping[str, msgspec.Raw] = field(default_factory=dict)

    def with_flat_arguments(self, known: Iterable[str]) -> ExecutionRequest:
        """The request with what stands beside taken for its arguments, if the tool knows all of it and nothing else is meant.

        Raises ValidationError, with how to write it, otherwise.
        """
        names = frozenset(known)
        if self.arguments or not names.issuperset(self.beside) or names & OWN_NAMES:
            raise ValidationError(self._how_to_nest())
        raw = b"{%b}" % b",".join(b"%b:%b" % (msgspec.json.encode(n), bytes(v)) for n, v in self.beside.items())
        return ExecutionRequest(self.server, self.tool, raw, msgspec.json.decode(raw))

    def _how_to_nest(self) -> str:
        names = ", ".join(list(self.beside)[:5])
        inside = ",".join(f'"{name}":…' for name in list(self.beside)[:5])
        return (
            f"{names} must be inside arguments: "
            f'{{"server":"{self.server}","tool":"{self.tool}","arguments":{{{inside}}}}}. '
            "get_tool_details shows the parameters of a tool."
        )


def read_request(arguments: bytes) -> ExecutionRequest:
    """The request in the arguments of `execute_tool`; raises ValidationError."""
    beside: dict[str, msgspec.Raw] = {}
    try:
        asked = _asked(arguments)
    except msgspec.ValidationError as problem:
        asked, beside = _read_flat(arguments, problem)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise ValidationError(str(problem)) from None
    server, tool = split_id(asked.server, asked.tool)
    raw, given = _tool_arguments(asked.arguments)
    return ExecutionRequest(server, tool, raw, given, beside)


def _read_flat(arguments: bytes, problem: Exception) -> tuple[_Asked, dict[str, msgspec.Raw]]:
    """The same where members stand beside those that belong there; raises ValidationError with the first problem."""
    try:
        members = _members(arguments)
        own = {name: members.pop(name) for name in OWN_NAMES if name in members}
        return _asked(msgspec.json.encode(own)), members
    except (msgspec.DecodeError, RecursionError):
        raise ValidationError(str(problem)) from None


def _tool_arguments(raw: msgspec.Raw) -> tuple[bytes, dict[str, Any]]:
    """The arguments as text and as values; a JSON string that holds an object is taken for that object."""
    text = bytes(raw)
    value = _value(text)
    if isinstance(value, str):
        text = on_one_line(value.strip().encode()) or b"{}"
        value = _value(text)
    if value is None:
        return b"{}", {}
    if not isinstance(value, dict):
        raise ValidationError(f"arguments must be an object, not {type(value).__name__}")
    return text, value


def _value(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise ValidationError(f"arguments must be a JSON object: {problem}") from None

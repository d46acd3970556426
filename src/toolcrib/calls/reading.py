"""A part of a large text: a range, a value by JSON pointer, or matching lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from time import monotonic
from typing import Any

from toolcrib.errors import InvalidArguments, Problem
from toolcrib.foreign_regex import BadExpression, compile_foreign

DEFAULT_CHARACTERS = 16_000
MOST_CHARACTERS = 60_000
GREP_SECONDS = 2.0


def excerpt(text: str, wanted: Mapping[str, Any]) -> str:
    """The part of `text` that `offset`, `length`, `pointer` and `grep` ask for, with a line on where it ends."""
    if (pointer := wanted.get("pointer")) is not None:
        text = _at_pointer(text, str(pointer))
    if (pattern := wanted.get("grep")) is not None:
        text = _matching_lines(text, str(pattern))
    offset = max(0, int(wanted.get("offset") or 0))
    length = min(int(wanted.get("length") or DEFAULT_CHARACTERS), MOST_CHARACTERS)
    part = text[offset : offset + length]
    end = offset + len(part)
    if end >= len(text):
        return part
    return f"{part}\n[characters {offset} to {end} of {len(text)}; go on with offset {end}]"


def _at_pointer(text: str, pointer: str) -> str:
    """The JSON at an RFC 6901 pointer, compact."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise _refusal("pointer", "this result is not JSON; use offset and length, or grep") from None
    for step in pointer.split("/")[1:] if pointer else []:
        value = _member(value, step.replace("~1", "/").replace("~0", "~"), pointer)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _member(value: Any, step: str, pointer: str) -> Any:
    if isinstance(value, dict) and step in value:
        return value[step]
    if isinstance(value, list) and step.isdigit() and int(step) < len(value):
        return value[int(step)]
    raise _refusal("pointer", f"nothing is at {pointer!r}: {step!r} is not there")


def _matching_lines(text: str, pattern: str) -> str:
    """The lines the pattern is found in, numbered; all of them together have one time limit."""
    try:
        search = compile_foreign(pattern).search
    except BadExpression as problem:
        raise _refusal("grep", f"the pattern {problem}") from None
    deadline = monotonic() + GREP_SECONDS
    try:
        lines = enumerate(text.splitlines(), 1)
        found = [
            f"{number}: {line}" for number, line in lines if search(line, timeout=max(0.0001, deadline - monotonic()))
        ]
    except TimeoutError:
        raise _refusal("grep", "this pattern takes too long; use a simpler one") from None
    return "\n".join(found) if found else "[no line matches]"


def _refusal(field: str, message: str) -> InvalidArguments:
    return InvalidArguments([Problem(field, message)])

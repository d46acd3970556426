"""A part of a large text: a range, a value by JSON pointer, or matching lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any

from toolcrib.built_in.readable_lines import Line, json_lines
from toolcrib.errors import InvalidArguments, Problem
from toolcrib.foreign_regex import BadExpression, compile_foreign

DEFAULT_CHARACTERS = 16_000
MOST_CHARACTERS = 60_000
GREP_SECONDS = 0.5

_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


def excerpt(text: str, wanted: Mapping[str, Any], fitting: Callable[[str], str] = str) -> str:
    """The part of `text` that `offset`, `length`, `pointer` and `grep` ask for, with a line on where it ends.

    `fitting` gives as much of the beginning of a text as the caller is shown.
    """
    pointer, pattern = wanted.get("pointer"), wanted.get("grep")
    value = None if pointer is None else _at_pointer(text, str(pointer))
    if pointer is not None:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if pattern is not None:
        lines = None if isinstance(value, str) else json_lines(text, str(pointer or ""))
        text = _matching_lines(text, lines, str(pattern))
    offset = max(0, int(wanted.get("offset") or 0))
    length = min(int(wanted.get("length") or DEFAULT_CHARACTERS), MOST_CHARACTERS)
    part = fitting(text[offset : offset + length])
    end = offset + len(part)
    if not part and offset:
        return f"[nothing at offset {offset}: the result has {len(text)} characters]"
    if end >= len(text):
        return part
    return f"{part}\n[characters {offset} to {end} of {len(text)}; continue with offset {end}]"


def _at_pointer(text: str, pointer: str) -> Any:
    """The value at an RFC 6901 pointer."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise _refusal("pointer", "this result is not JSON; use offset and length, or grep") from None
    if pointer and not pointer.startswith("/"):
        raise _refusal("pointer", f"a JSON pointer starts with /, found {pointer!r}")
    for step in pointer.split("/")[1:]:
        value = _member(value, step.replace("~1", "/").replace("~0", "~"), pointer)
    return value


def _member(value: Any, step: str, pointer: str) -> Any:
    if isinstance(value, dict) and step in value:
        return value[step]
    if isinstance(value, list) and _INDEX.fullmatch(step) and int(step) < len(value):
        return value[int(step)]
    raise _refusal("pointer", f"nothing is at {pointer!r}: there is no {step!r}")


def _matching_lines(text: str, lines: Sequence[Line] | None, pattern: str) -> str:
    """The lines the pattern is found in: of JSON its values with their pointers, else the lines of the text, numbered."""
    searched = text if lines is None else "\n".join(line.searched.replace("\n", " ") for line in lines)
    found = _found(searched, pattern)
    if not found:
        return "[no line matches]"
    return "\n".join(f"{number}: {line}" if lines is None else str(lines[number - 1]) for number, line in found)


def _found(text: str, pattern: str) -> list[tuple[int, str]]:
    """The numbers of the lines the pattern is found in, and these lines; the whole search has one time limit."""
    try:
        search = compile_foreign(pattern, re.MULTILINE).search
        return list(_numbered_matches(search, text, monotonic() + GREP_SECONDS))
    except BadExpression as problem:
        raise _refusal("grep", f"the pattern {problem}") from None
    except TimeoutError:
        raise _refusal("grep", "this pattern takes too long; use a simpler one") from None


def _numbered_matches(search: Any, text: str, deadline: float) -> Iterator[tuple[int, str]]:
    """One search over the whole text, going on behind each line that matched: most lines are never touched here."""
    start, number = 0, 1
    while start <= len(text) and (match := search(text, start, timeout=max(0.001, deadline - monotonic()))):
        line_start = text.rfind("\n", 0, match.start()) + 1
        line_end = text.find("\n", match.start())
        line_end = len(text) if line_end < 0 else line_end
        number += text.count("\n", start, line_start)
        yield number, text[line_start:line_end]
        start, number = line_end + 1, number + 1


def _refusal(field: str, message: str) -> InvalidArguments:
    return InvalidArguments([Problem(field, message)])

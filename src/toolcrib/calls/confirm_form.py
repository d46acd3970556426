"""How a person is asked whether a call may run, and what they answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from toolcrib.calls.question_rules import ONCE, SESSION
from toolcrib.masking.texts import mask_text
from toolcrib.model.asking import ELICITATION, Question
from toolcrib.model.call import Target, ToolCall
from toolcrib.model.clean_text import clean
from toolcrib.model.server import BUILT_IN_SERVER

NO = "no"
MOST_VALUE_CHARACTERS = 200
MOST_MASKED_CHARACTERS = 20 * MOST_VALUE_CHARACTERS
MOST_CHARACTERS = 2_000
A_FORM = Question(BUILT_IN_SERVER, ELICITATION, b"{}")


def question(call: ToolCall, target: Target) -> Question:
    """Our own question. A caller without a session has nothing that a longer consent could end with."""
    answers = [ONCE, SESSION, NO] if call.caller.session else [ONCE, NO]
    # Nothing is chosen beforehand: whoever only presses a key has agreed to nothing.
    field = {"type": "string", "title": "Run it", "enum": answers}
    schema = {"type": "object", "properties": {"run": field}, "required": ["run"]}
    form = {"mode": "form", "message": message(call, target), "requestedSchema": schema}
    return Question(BUILT_IN_SERVER, ELICITATION, msgspec.json.encode(form))


def message(call: ToolCall, target: Target) -> str:
    """Who wants to run what, with the arguments as far as they fit; secrets are covered."""
    tool = f"{clean(target.tool.id)} ({target.tool.effect})"
    return f"Toolcrib: {clean(call.caller.shown)} wants to run {tool}. {_arguments(call.arguments)} Run it?"


def answer_of(answer: bytes) -> str:
    """How far a person has agreed: once, in this session, or (empty) not at all."""
    try:
        given = msgspec.json.decode(answer)
    except (msgspec.DecodeError, RecursionError):
        return ""
    content = given.get("content") if isinstance(given, dict) and given.get("action") == "accept" else None
    run = content.get("run") if isinstance(content, dict) else None
    return run if run in (ONCE, SESSION) else ""


def _arguments(arguments: Mapping[str, Any]) -> str:
    shown: list[str] = []
    room = MOST_CHARACTERS
    for text in _each(arguments):
        room -= len(text)
        if room < 0:
            break
        shown.append(text)
    more = len(arguments) - len(shown)
    parts = [*shown, f"and {more} more that are not shown"] if more else shown
    return f"Arguments: {', '.join(parts)}." if parts else "It has no arguments."


def _each(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        # In quotes: else the words of an agent could pass for ours.
        text = msgspec.json.encode(value).decode()
        # The name stands before the value, since it may say that the value is a secret.
        shown = f"{_cut(name)}: {text}"
        # More is not shown in any case, and to look through megabytes takes seconds.
        covered = clean(mask_text(shown[:MOST_MASKED_CHARACTERS]))
        yield _cut(covered, len(shown))


def _cut(text: str, length: int = 0) -> str:
    whole = max(length, len(text))
    return text if whole <= MOST_VALUE_CHARACTERS else f"{text[:MOST_VALUE_CHARACTERS]}… ({whole} characters)"

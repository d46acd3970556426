"""Parameters that are described to hold what no honest tool wants from a model."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolcrib.model.finding import Finding, Level
from toolcrib.scanner.excerpts import shortened
from toolcrib.scanner.reading_form import reading_forms
from toolcrib.scanner.texts import Text

_SYSTEM_PROMPT = re.compile(
    r"^\W{0,3}(?:a copy of |the text of )?(?:your|the (?:assistant|model|agent|llm)'s) (?P<own>(?:own |full |complete |entire |hidden |initial |original |exact |current )*)"
    r"(?:system (?:prompt|message|instructions)|(?:instructions|guidelines|prompt) (?:as (?:they|you) were|that you were|you were|word for word|verbatim))\b"
    # One that the tool is to give to somebody else's model.
    r"(?! (?:for|of|to) (?:the|your|this|an?|each)(?: \w{1,20}){0,2} (?:bot|agent|assistant|model|llm|chatbot|call|caller|persona)\b)"
)
_ALL_THAT_WAS_SAID = re.compile(
    r"^\W{0,3}(?:(?:a|the) (?:\w{1,12} )?(?:summary|transcript|copy|record|log) of )?(?:everything|all|whatever|what)(?: that)? (?:\w{1,12} ){0,3}(?:discussed|said|told|shared|talked about)\b"
    r".{0,80}\b(?:including|with) .{0,60}\b(?:keys?|passwords?|tokens?|secrets?|credentials|addresses|e-?mails?)\b"
)
_ENV_FILE = re.compile(
    r"^\W{0,3}(?:the )?(?:full |complete |entire )?contents? of (?:the |your |a |any )?(?:[^\s.]{0,40}/)?\.env\b"
)
_IS_NEEDED = re.compile(r"\b(?<!not )(?:required|mandatory)\b")
_WRITES = re.compile(
    r"\b(?:to (?:be )?(?:write|written|save|saved|create|created|set|store|stored|deploy|deployed|upload|uploaded|validate|parse|lint)|new)\b"
)


def asked_for(text: Text) -> Iterator[Finding]:
    """Nearly the same words are honest where nobody has to give it, so that those are only odd."""
    if not text.is_about_parameter or text.is_value or text.is_name:
        return
    form = reading_forms(text.words)[0]
    if found := _SYSTEM_PROMPT.search(form):
        is_hard = text.is_required or bool(found["own"]) or _IS_NEEDED.search(form) is not None
        yield _finding(text, form, is_hard=is_hard, why="wants the model's own instructions")
    elif _ALL_THAT_WAS_SAID.search(form):
        yield _finding(text, form, is_hard=True, why="wants all that the user said")
    elif text.is_required and _ENV_FILE.search(form) and not _WRITES.search(form):
        yield _finding(text, form, is_hard=True, why="wants a file with secrets")


def _finding(text: Text, form: str, *, is_hard: bool, why: str) -> Finding:
    level: Level = "hard" if is_hard else "soft"
    return Finding("secret-request", level, text.where, why, shortened(form))

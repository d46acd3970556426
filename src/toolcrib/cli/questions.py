"""What servers ask in the middle of `toolcrib execute`, put to the person at the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolcrib.cli.form_fields import NotAnAnswer, choices_of, label_of, value_of
from toolcrib.cli.surroundings import Surroundings
from toolcrib.cli.terminal import Terminal
from toolcrib.cli.typed_lines import TypedLines
from toolcrib.config.inside import depth_of
from toolcrib.model.asking import Question
from toolcrib.model.clean_text import clean

# No model is at hand here.
CAPABILITIES: Mapping[str, Any] = {"elicitation": {"form": {}, "url": {}}, "roots": {}}

_CANCELLED = {"action": "cancel"}
_DECLINED = {"action": "decline"}


def terminal_questions(here: Surroundings, err: Terminal, *, as_json: bool) -> TerminalQuestions | None:
    """Whoever answers at this terminal; None where a program reads and writes, as at one that a server has made itself."""
    stdin = here.stdin
    if as_json or depth_of(here.env) or stdin is None or not stdin.isatty() or not err.stream.isatty():
        return None
    return TerminalQuestions(TypedLines(stdin.fileno()), err, here.folder or Path.cwd())


class TerminalQuestions:
    """Shows forms field by field, and addresses; one question at a time."""

    def __init__(self, lines: TypedLines, err: Terminal, folder: Path) -> None:
        self._lines = lines
        self._err = err
        self._folder = folder
        self._turn = asyncio.Lock()

    async def __call__(self, question: Question) -> Mapping[str, Any]:
        """The answer, as the protocol has it."""
        if question.kind == "roots":
            return {"roots": [{"uri": self._folder.as_uri(), "name": self._folder.name}]}
        params = msgspec.json.decode(question.params)
        async with self._turn:
            await self._show(str(params.get("message", "")))
            return await (self._page(params) if question.is_url else self._form(params))

    async def _page(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        await self._show(clean(str(params.get("url", ""))))
        text = await self._typed("Open this page in your browser, then press Enter; or write no: ")
        if text is None:
            return _CANCELLED
        return _DECLINED if text.lower() in ("n", "no") else {"action": "accept"}

    async def _form(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        schema = params.get("requestedSchema")
        fields = schema.get("properties") if isinstance(schema, Mapping) else None
        required = schema.get("required") if isinstance(schema, Mapping) else None
        content: dict[str, Any] = {}
        for name, field in fields.items() if isinstance(fields, Mapping) else ():
            is_required = isinstance(required, list) and name in required
            given = await self._field(name, field if isinstance(field, Mapping) else {}, required=is_required)
            if given is None:
                return _CANCELLED
            content |= given
        return {"action": "accept", "content": content}

    async def _field(self, name: str, schema: Mapping[str, Any], *, required: bool) -> dict[str, Any] | None:
        """The value by its name, or nothing where it is left out; None where the person has had enough."""
        for number, (_, shown) in enumerate(choices_of(schema), 1):
            await self._show(f"  {number}) {shown}")
        while (text := await self._typed(label_of(name, schema, required=required))) is not None:
            if not text and "default" in schema:
                return {name: schema["default"]}
            if not text and not required:
                return {}
            try:
                return {name: value_of(text, schema)}
            except NotAnAnswer as problem:
                await self._show(str(problem))
        return None

    async def _typed(self, prompt: str) -> str | None:
        await asyncio.to_thread(self._write, prompt)
        return await self._lines.next()

    async def _show(self, text: str) -> None:
        # In a thread: a terminal can be held up, and in the engine others would wait with it.
        await asyncio.to_thread(self._paragraph, text)

    def _paragraph(self, text: str) -> None:
        self._err.paragraph(text)
        self._err.stream.flush()

    def _write(self, text: str) -> None:
        self._err.stream.write(text)
        self._err.stream.flush()

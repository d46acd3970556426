"""Where a command's words go: answers to standard output, everything else to standard error."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.cli.surroundings import around
from toolcrib.cli.terminal import Terminal
from toolcrib.cli.wording import in_words
from toolcrib.errors import ConfigurationError, InvalidArguments, Problem, ToolcribError
from toolcrib.masking.redactor import REDACTOR
from toolcrib.model.clean_text import clean, clean_json

# The hints of these errors speak to agents; people have commands.
_HINTS = {
    "SERVER_NOT_FOUND": "`toolcrib list` shows all servers.",
    "TOOL_NOT_FOUND": "`toolcrib tools SERVER` shows the tools of a server, `toolcrib search` finds one anywhere.",
    "TOOL_VALIDATION_ERROR": "`toolcrib inspect SERVER TOOL` shows the parameters; give each as KEY=VALUE "
    "(repeat KEY for a list, KEY:=JSON for JSON).",
    "CONFIRMATION_REQUIRED": "Run it at a terminal, where you are asked, or add --yes.",
    "CALL_DECLINED": "You did not agree to it.",
    "TOOL_DISABLED": "`toolcrib config show` lists the rules; `toolcrib inspect SERVER TOOL` shows what the tool does.",
}


@dataclass(frozen=True, slots=True)
class Output:
    """The two streams of a command, and whether its answer is to be JSON."""

    out: Terminal
    err: Terminal
    as_json: bool = False
    is_quiet: bool = False

    @classmethod
    def of(cls, options: argparse.Namespace) -> Output:
        here = around(options)
        out, err = (Terminal.of(stream, options.color, here.env) for stream in (here.stdout, here.stderr))
        # Log lines would tear a live display.
        err.is_live = err.is_live and not options.verbose
        return cls(out, err, as_json=getattr(options, "json", False), is_quiet=options.quiet)

    def json(self, value: Any) -> None:
        """The answer as JSON, harmless on a terminal too."""
        self._write_json(value, indent=2)

    def json_line(self, value: Any) -> None:
        """One of several answers, each on a line of its own, written at once."""
        self._write_json(value, indent=None)
        self.out.stream.flush()

    def error(self, error: ToolcribError) -> None:
        """What went wrong: as JSON on standard output where that was asked for, else in words on standard error."""
        if self.as_json:
            body = failure(
                error.code, error.message, hint=human_hint(error.code, error.hint), details=details_of(error)
            )
            self.json(REDACTOR.value(body))
            return
        for line in (f"toolcrib: {in_words(error)}", *advice(error)):
            self.err.paragraph(REDACTOR(line))

    def note(self, text: str, *, is_covered: bool = False) -> None:
        """A word beside the answer, for people; not in quiet mode. `is_covered` of one without any secret by itself."""
        if not self.is_quiet:
            self.err.paragraph(clean(text if is_covered else REDACTOR(text)), "", "yellow")

    def _write_json(self, value: Any, *, indent: int | None) -> None:
        encoding = (getattr(self.out.stream, "encoding", None) or "utf-8").lower().replace("-", "")
        text = json.dumps(value, indent=indent, ensure_ascii=encoding != "utf8", default=_plain)
        self.out.write(clean_json(text))


def failure(code: str, message: str, *, hint: str = "", details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The JSON of every error, the same as agents get."""
    error = {"code": code, "message": message, "hint": hint, **(details or {})}
    return {"success": False, "error": {key: value for key, value in error.items() if value}}


def problem_json(problem: Problem) -> dict[str, str]:
    return {"file": problem.source, "path": problem.where, "message": problem.message}


def details_of(error: ToolcribError) -> dict[str, Any]:
    """The further facts of an error: names that may have been meant, or each problem with its place."""
    if isinstance(error, (ConfigurationError, InvalidArguments)):
        return {"problems": [problem_json(problem) for problem in error.problems]}
    return error.details


def human_hint(code: str, hint: str) -> str:
    return _HINTS.get(code, hint)


def advice(error: ToolcribError) -> list[str]:
    """What to do about an error, in lines for people."""
    nearest = error.details.get("nearest") or ()
    lines = [did_you_mean(nearest)] if nearest else []
    hint = human_hint(error.code, error.hint)
    return [*lines, hint] if hint else lines


def did_you_mean(names: Iterable[str]) -> str:
    return f"Did you mean: {', '.join(names)}?"


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)

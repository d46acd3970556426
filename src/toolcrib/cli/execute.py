"""`toolcrib execute`: run a tool."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolcrib.app.online import open_gateway
from toolcrib.cli.exits import OK
from toolcrib.cli.names import server_and_tool
from toolcrib.cli.output import Output, did_you_mean, failure, human_hint
from toolcrib.cli.reading import settings_of
from toolcrib.cli.run import exit_of
from toolcrib.cli.terminal import Terminal
from toolcrib.config.settings import Settings
from toolcrib.errors import ToolNotFound, ValidationError
from toolcrib.gateway import Gateway
from toolcrib.model.call import Caller, CallEvent, ExecutionError, ExecutionResult, Progress, ToolResult
from toolcrib.model.clean_text import clean

MOST_ARGUMENT_BYTES = 16 * 1024 * 1024
CALLER = Caller("cli", "cli", "cli")


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    server, tool = server_and_tool(options)
    arguments = _arguments(options.args)
    settings = settings_of(options, output)
    if not output.as_json:
        output.out.write(f"Executing: {clean(f'{server}:{tool}')}")
        output.out.write()
        output.out.stream.flush()
    outcome = asyncio.run(_execute(settings, server, tool, arguments, output, stream=options.stream))
    if output.as_json:
        # Beside the events of a stream the outcome is one more line.
        (output.json_line if options.stream else output.json)(_outcome_json(outcome))
    elif outcome.error is not None:
        _print_error(outcome.error, output.out)
    else:
        _print_result(outcome, output.out)
    return OK if outcome.error is None else exit_of(outcome.error.code)


async def _execute(
    settings: Settings, server: str, tool: str, arguments: dict[str, Any], output: Output, *, stream: bool
) -> ExecutionResult:
    # What is odd about the configuration was said already.
    said = replace(settings, problems=(), warnings=())
    async with open_gateway(settings=said, face="cli", read_due=False) as gateway:
        outcome = await _outcome(gateway, server, tool, arguments, output, stream=stream)
        failure = gateway.failure(server)
        if failure is not None and outcome.error is not None and outcome.error.code == ToolNotFound.code:
            # Nobody knows its tools because it can't be reached: that is what went wrong.
            return ExecutionResult(error=ExecutionError.of(failure, server, tool))
        return outcome


async def _outcome(
    gateway: Gateway, server: str, tool: str, arguments: dict[str, Any], output: Output, *, stream: bool
) -> ExecutionResult:
    if not stream:
        return await gateway.execute_tool(server, tool, arguments, caller=CALLER)
    heard = False
    async for event in gateway.execute_stream(server, tool, arguments, caller=CALLER):
        if isinstance(event, ExecutionResult):
            if heard and not output.as_json:
                output.out.write()
            return event
        _show_event(event, output)
        heard = True
    raise AssertionError("a stream ends with its outcome")


def _arguments(given: str | None) -> dict[str, Any]:
    text = _argument_text(given)
    try:
        value = json.loads(text) if text.strip() else {}
        json.dumps(value, ensure_ascii=False).encode()  # half a character can be written in JSON, but not sent
    except (ValueError, RecursionError) as problem:
        raise ValidationError(
            f"--args is not JSON: {problem}", hint="""For example: --args '{"path": "README.md"}'"""
        ) from None
    if not isinstance(value, dict):
        raise ValidationError(f"--args must be a JSON object, found {type(value).__name__}")
    return value


def _argument_text(given: str | None) -> str:
    """The JSON text itself, of a file after `@`, or from standard input after `-`."""
    if given is None or not given.startswith(("@", "-")):
        return given or ""
    try:
        if given == "-":
            return sys.stdin.read(MOST_ARGUMENT_BYTES)
        if given.startswith("@"):
            with Path(given[1:]).expanduser().open(encoding="utf-8-sig") as file:
                return file.read(MOST_ARGUMENT_BYTES)
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise ValidationError(f"--args {given} can't be read: {reason}") from problem
    return given


def _show_event(event: CallEvent, output: Output) -> None:
    if output.as_json:
        output.json_line({"progress" if isinstance(event, Progress) else "log": dict(event.params)})
        return
    output.out.paragraph(_event_text(event), "  ", "dim")
    output.out.stream.flush()


def _event_text(event: CallEvent) -> str:
    params = event.params
    if not isinstance(event, Progress):
        data = params.get("data")
        words = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
        return f"{clean(str(params.get('level', 'info')))}: {words}"
    total = params.get("total")
    share = f"{params.get('progress')}/{total}" if total is not None else str(params.get("progress"))
    message = params.get("message")
    return f"{share} {message}" if message else share


def _print_result(outcome: ExecutionResult, out: Terminal) -> None:
    out.write(out.paint("✓ Success", "green"))
    out.write()
    out.write(out.paint("Result:", "bold"))
    assert outcome.result is not None
    for text in _result_texts(outcome.result):
        out.paragraph(text, "  ")


def _result_texts(result: ToolResult) -> list[str]:
    """The texts a tool answered; what is no text is named, and structured content without text is shown as JSON."""
    if not result.content and result.structured_json is not None:
        return [json.dumps(result.value, indent=2, ensure_ascii=False)]
    return [
        str(block.get("text", "")) if block.get("type") == "text" else _block_text(block) for block in result.content
    ] or ["(empty)"]


def _block_text(block: dict[str, Any]) -> str:
    kind, mime = block.get("type", "unknown"), block.get("mimeType", "")
    return f"[{kind}{f' {mime}' if mime else ''}; --json shows it]"


def _print_error(error: ExecutionError, out: Terminal) -> None:
    out.write(out.paint("✗ Error", "red"))
    out.write()
    out.write(f"Code: {clean(error.code)}")
    out.paragraph(f"Message: {error.message}")
    out.write(f"Server: {clean(error.server)}")
    out.write(f"Tool: {clean(error.tool)}")
    nearest = error.details.get("nearest")
    if nearest:
        out.paragraph(clean(did_you_mean(nearest)))
    hint = human_hint(error.code, error.hint)
    if hint:
        out.paragraph(f"Hint: {hint}")


def _outcome_json(outcome: ExecutionResult) -> dict[str, Any]:
    error = outcome.error
    if error is None:
        return {"success": True, "result": outcome.value}
    place = {"server": error.server, "tool": error.tool, **error.details}
    return failure(error.code, error.message, hint=human_hint(error.code, error.hint), details=place)

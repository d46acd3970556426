"""`toolcrib execute`: run a tool."""

from __future__ import annotations

import argparse
import json
import shlex
from typing import Any

from toolcrib.cli.asked import Asked, asked_of, typed
from toolcrib.cli.chosen import disabled
from toolcrib.cli.exits import OK
from toolcrib.cli.open_catalog import settings_of
from toolcrib.cli.output import Output, did_you_mean, failure, human_hint
from toolcrib.cli.questions import CAPABILITIES, TerminalQuestions, terminal_questions
from toolcrib.cli.run import exit_of
from toolcrib.cli.surroundings import Surroundings, around
from toolcrib.cli.terminal import Terminal
from toolcrib.config.settings import Settings
from toolcrib.errors import InvalidArguments, ServerNotFound, ToolcribError, ToolNotFound
from toolcrib.gateway import Gateway
from toolcrib.model.call import CallEvent, ExecutionError, ExecutionResult, Progress, ToolResult
from toolcrib.model.caller import Caller
from toolcrib.model.clean_text import clean

CALLER = Caller("cli", "cli", "cli")


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    asked = asked_of(options)
    settings = settings_of(options, output)
    if not output.as_json:
        output.out.write(f"Executing: {clean(f'{asked.server}:{asked.tool}')}")
        output.out.write()
        output.out.stream.flush()
    outcome = around(options).run(_execute(around(options), settings, asked, output))
    if output.as_json:
        # Beside the events of a stream the outcome is one more line.
        (output.json_line if options.stream else output.json)(_outcome_json(outcome))
    elif outcome.error is not None:
        _print_error(outcome.error, output.out)
    else:
        _print_result(outcome, output.out)
    return OK if outcome.error is None else exit_of(outcome.error.code)


async def _execute(here: Surroundings, settings: Settings, asked: Asked, output: Output) -> ExecutionResult:
    async with here.gateway(settings) as gateway:
        try:
            answering = terminal_questions(here, output.err, as_json=output.as_json)
            outcome = await _outcome(gateway, await typed(gateway, asked), output, answering)
        except InvalidArguments as error:
            return ExecutionResult(error=ExecutionError.of(error, asked.server, asked.tool))
        cause = _cause(gateway, settings, asked, outcome)
        return outcome if cause is None else ExecutionResult(error=ExecutionError.of(cause, asked.server, asked.tool))


def _cause(gateway: Gateway, settings: Settings, asked: Asked, outcome: ExecutionResult) -> ToolcribError | None:
    """What a person should hear instead of "not found": the server can't be reached, or it is disabled."""
    code = outcome.error.code if outcome.error is not None else ""
    if code == ToolNotFound.code:
        return gateway.failure(asked.server)
    return disabled(settings, asked.server) if code == ServerNotFound.code else None


async def _outcome(
    gateway: Gateway, asked: Asked, output: Output, answering: TerminalQuestions | None
) -> ExecutionResult:
    server, tool, arguments = asked.server, asked.tool, asked.arguments
    how: dict[str, Any] = {
        "caller": CALLER,
        "ask": answering,
        "capabilities": {} if answering is None else CAPABILITIES,
        "confirmed": asked.is_confirmed,
    }
    if not asked.is_streamed:
        return await gateway.execute_tool(server, tool, arguments, **how)
    heard = False
    async for event in gateway.execute_stream(server, tool, arguments, **how):
        if isinstance(event, ExecutionResult):
            if heard and not output.as_json:
                output.out.write()
            return event
        _show_event(event, output)
        heard = True
    raise AssertionError("a stream ends with its outcome")


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
    blocks = [
        str(block.get("text", "")) if block.get("type") == "text" else _block_text(block) for block in result.content
    ]
    if result.structured_json is not None and not result.has_text:
        blocks.insert(0, json.dumps(result.value, indent=2, ensure_ascii=False))
    return blocks or ["(empty)"]


def _further_content(result: ToolResult) -> dict[str, Any]:
    """The blocks beside structured content, where they say anything else."""
    if result.structured_json is None or not result.content or result.text_repeats_structure:
        return {}
    return {"content": result.content}


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
    if "data" in error.details:
        out.paragraph(f"Data: {clean(json.dumps(error.details['data'], ensure_ascii=False))}")
    nearest = error.details.get("nearest")
    if nearest:
        out.paragraph(clean(did_you_mean(nearest)))
    if hint := _hint(error):
        out.paragraph(f"Hint: {hint}")


def _hint(error: ExecutionError) -> str:
    named = shlex.join((error.server, error.tool))
    return human_hint(error.code, error.hint).replace("SERVER TOOL", named)


def _outcome_json(outcome: ExecutionResult) -> dict[str, Any]:
    error = outcome.error
    if error is None:
        assert outcome.result is not None
        return {"success": True, "result": outcome.value, **_further_content(outcome.result)}
    place = {"server": error.server, "tool": error.tool, **error.details}
    return failure(error.code, error.message, hint=_hint(error), details=place)

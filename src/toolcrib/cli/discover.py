"""`toolcrib discover`: read servers now, whatever is known of them, and say what each offers."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from toolcrib.cli.chosen import chosen_servers, why_none
from toolcrib.cli.exits import FAILED, OK
from toolcrib.cli.open_catalog import settings_of
from toolcrib.cli.output import Output, human_hint
from toolcrib.cli.progress import Progress
from toolcrib.cli.surroundings import Surroundings, around
from toolcrib.cli.table import print_table
from toolcrib.cli.ticking import ticking
from toolcrib.cli.wording import counted
from toolcrib.config.settings import Settings
from toolcrib.discovery.options import DiscoveryOptions
from toolcrib.discovery.results import ServerOutcome
from toolcrib.discovery.service import MCPDiscoveryService
from toolcrib.engine.from_settings import discovery_options
from toolcrib.errors import ToolcribError
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool_naming import public_name

# What the tools mean is worked out at once, a hundred a second, so that the next search is as good as it gets.
LEARNING_SECONDS = 180.0

Work = Callable[[MCPDiscoveryService, Progress], Awaitable[Any]]


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    settings = settings_of(options, output)
    specs = chosen_servers(settings, options.servers)
    asked = options_of(options, settings)

    async def work(service: MCPDiscoveryService, progress: Progress) -> list[ServerOutcome]:
        return await service.discover_servers(
            specs,
            asked,
            started=lambda spec: progress.started(spec.name),
            attempt_failed=lambda spec, error: show_attempt(progress, spec, error),
            finished=lambda one: show(progress, one),
        )

    outcomes: list[ServerOutcome] = with_service(around(options), settings, specs, output, work)
    if output.as_json:
        output.json({"servers": [outcome_json(outcome) for outcome in outcomes]})
    elif not outcomes:
        output.out.paragraph(why_none(settings))
    else:
        _print(outcomes, output)
    return exit_code(outcomes)


def options_of(options: argparse.Namespace, settings: Settings) -> DiscoveryOptions:
    """What the configuration says about readings, and what this command line says otherwise."""
    asked = replace(discovery_options(settings), deadline_seconds=options.deadline)
    if options.retries is None:
        return asked
    return replace(asked, retry_policy=replace(asked.retry_policy, max_retries=options.retries))


def with_service(
    here: Surroundings,
    settings: Settings,
    specs: Sequence[ServerSpec],
    output: Output,
    work: Work,
    *,
    title: str = "Reading servers",
) -> Any:
    """What `work` gives, with the service open and progress shown."""

    async def opened() -> Any:
        names = [spec.name for spec in specs]
        with Progress(output.err, title, names, is_quiet=output.is_quiet) as progress:
            async with here.gateway(settings) as gateway:
                async with ticking(progress):
                    result = await work(gateway.discovery_service, progress)
                await gateway.learn_tools(LEARNING_SECONDS)
                return result

    return here.run(opened())


def show(progress: Progress, outcome: ServerOutcome) -> None:
    if outcome.error is None:
        progress.done(outcome.config.name, counted(len(outcome.tools), "tool"))
    else:
        progress.failed(outcome.config.name, outcome.error.message)


def show_attempt(progress: Progress, spec: ServerSpec, error: ToolcribError) -> None:
    """An attempt failed, and another one may follow."""
    if error.retryable:
        progress.again(spec.name, error.message)


def outcome_json(outcome: ServerOutcome) -> dict[str, Any]:
    rendered: dict[str, Any] = {"name": outcome.config.name, "ok": outcome.error is None}
    if outcome.error is None:
        return {**rendered, "toolCount": len(outcome.tools), "tools": _names(outcome)}
    error = outcome.error
    return {**rendered, "code": error.code, "message": error.message, "hint": human_hint(error.code, error.hint)}


def exit_code(outcomes: Sequence[ServerOutcome]) -> int:
    return OK if all(outcome.error is None for outcome in outcomes) else FAILED


def _print(outcomes: Sequence[ServerOutcome], output: Output) -> None:
    rows = [_row(outcome) for outcome in outcomes]
    styles = ["green" if outcome.error is None else "red" for outcome in outcomes]
    print_table(output.out, ("SERVER", "TOOLS", "DETAIL"), rows, styles)
    read = sum(outcome.error is None for outcome in outcomes)
    output.out.write()
    output.out.write(f"{read} of {len(outcomes)} servers were read.")


def _row(outcome: ServerOutcome) -> tuple[str, str, str]:
    name = outcome.config.name
    if outcome.error is not None:
        return f"✗ {name}", "-", f"{outcome.error.code}: {outcome.error.message.partition(chr(10))[0]}"
    return f"✓ {name}", str(len(outcome.tools)), ", ".join(_names(outcome))


def _names(outcome: ServerOutcome) -> list[str]:
    """What its tools are called where they are used."""
    return [public_name(tool.tool_name, outcome.config) for tool in outcome.tools]

"""`toolcrib warm`: have the tools of all servers at hand, reading only what is not known well enough."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from toolcrib.cli.chosen import chosen_servers, why_none
from toolcrib.cli.discover import options_of, outcome_json, show_attempt, with_service
from toolcrib.cli.exits import FAILED, OK
from toolcrib.cli.open_catalog import settings_of
from toolcrib.cli.output import Output
from toolcrib.cli.progress import Progress
from toolcrib.cli.surroundings import around
from toolcrib.cli.terminal import Terminal
from toolcrib.cli.wording import counted
from toolcrib.discovery.results import ServerOutcome, WarmStats
from toolcrib.discovery.service import MCPDiscoveryService
from toolcrib.model.server import ServerSpec

Action = Literal["read", "fresh", "failed"]

_SIGNS: dict[Action, tuple[str, str]] = {"read": ("✓", "green"), "fresh": ("·", "dim"), "failed": ("✗", "red")}
_WORDS: dict[Action, str] = {"read": "read now", "fresh": "already fresh", "failed": "failed"}


@dataclass(slots=True)
class Warming:
    """What is done to each server while it is done: only one that must be read is started."""

    progress: Progress
    started: set[str] = field(default_factory=set)
    ended: dict[str, ServerOutcome] = field(default_factory=dict)

    def start(self, spec: ServerSpec) -> None:
        self.started.add(spec.name)
        self.progress.going_on(spec.name, "reading")

    def finish(self, outcome: ServerOutcome) -> None:
        # Only the word: how many tools, or why not, is in the answer.
        name, action = outcome.config.name, self.action(outcome)
        self.ended[name] = outcome
        (self.progress.failed if action == "failed" else self.progress.done)(name, _WORDS[action])

    def action(self, outcome: ServerOutcome) -> Action:
        if outcome.error is not None:
            return "failed"
        return "read" if outcome.config.name in self.started else "fresh"


Done = list[tuple[ServerOutcome, Action]]


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    settings = settings_of(options, output)
    specs = chosen_servers(settings, options.servers)
    asked = replace(options_of(options, settings), force_refresh=options.force)

    async def work(service: MCPDiscoveryService, progress: Progress) -> tuple[WarmStats, Done]:
        warming = Warming(progress)
        stats = await service.warm_cache_for_servers(
            specs,
            asked,
            started=warming.start,
            attempt_failed=lambda spec, error: show_attempt(progress, spec, error),
            finished=warming.finish,
        )
        outcomes = [warming.ended[spec.name] for spec in specs]
        return stats, [(outcome, warming.action(outcome)) for outcome in outcomes]

    stats, done = with_service(around(options), settings, specs, output, work, title="Warming servers")
    if output.as_json:
        output.json(_as_json(stats, done))
    elif not done:
        output.out.paragraph(why_none(settings))
    else:
        _print(stats, done, output.out)
    return FAILED if stats.failed else OK


def _as_json(stats: WarmStats, done: Done) -> dict[str, Any]:
    numbers = Counter(action for _, action in done)
    return {
        "totalServers": stats.total_servers,
        "successful": stats.successful,
        "read": numbers["read"],
        "fresh": numbers["fresh"],
        "failed": stats.failed,
        "cachedTools": stats.cached_tools,
        "servers": [{**outcome_json(outcome), "action": action} for outcome, action in done],
    }


def _print(stats: WarmStats, done: Done, out: Terminal) -> None:
    for outcome, action in done:
        sign, style = _SIGNS[action]
        out.item(f"{sign} ", f"{outcome.config.name}: {_detail(outcome, action)}", style)
    numbers = Counter(action for _, action in done)
    kinds = ", ".join(f"{numbers[action]} {words}" for action, words in _WORDS.items())
    out.write()
    out.paragraph(f"{counted(stats.total_servers, 'server')}: {kinds}; {counted(stats.cached_tools, 'tool')} known")


def _detail(outcome: ServerOutcome, action: Action) -> str:
    reason = counted(len(outcome.tools), "tool") if outcome.error is None else outcome.error.message
    return f"{_WORDS[action]}{', ' if outcome.error is None else ': '}{reason}"

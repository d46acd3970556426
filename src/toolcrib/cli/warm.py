"""`toolcrib warm`: have the tools of all servers at hand, reading only what is not known well enough."""

from __future__ import annotations

import argparse
from dataclasses import replace

from toolcrib.cli.chosen import chosen_servers
from toolcrib.cli.discover import options_of, outcome_json, show, with_service
from toolcrib.cli.exits import FAILED, OK
from toolcrib.cli.output import Output
from toolcrib.cli.progress import Progress
from toolcrib.cli.reading import settings_of
from toolcrib.discovery.found import ServerOutcome, WarmStats
from toolcrib.discovery.service import MCPDiscoveryService


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    settings = settings_of(options, output)
    specs = chosen_servers(settings, options.servers)
    asked = replace(options_of(options, settings), force_refresh=options.force)
    ended: dict[str, ServerOutcome] = {}

    async def work(service: MCPDiscoveryService, progress: Progress) -> WarmStats:
        def finished(outcome: ServerOutcome) -> None:
            ended[outcome.config.name] = outcome
            show(progress, outcome)

        return await service.warm_cache_for_servers(
            specs, asked, started=lambda spec: progress.started(spec.name), finished=finished
        )

    stats: WarmStats = with_service(settings, specs, output, work)
    outcomes = [ended[spec.name] for spec in specs]
    if output.as_json:
        output.json({**_stats_json(stats), "servers": [outcome_json(outcome) for outcome in outcomes]})
    else:
        _print(stats, outcomes, output)
    return FAILED if stats.failed else OK


def _stats_json(stats: WarmStats) -> dict[str, int]:
    return {
        "totalServers": stats.total_servers,
        "successful": stats.successful,
        "failed": stats.failed,
        "cachedTools": stats.cached_tools,
    }


def _print(stats: WarmStats, outcomes: list[ServerOutcome], output: Output) -> None:
    out = output.out
    for outcome in outcomes:
        if outcome.error is not None:
            out.paragraph(f"✗ {outcome.config.name}: {outcome.error.message}", "", "red")
    out.write(
        f"{stats.total_servers} servers: {stats.successful} successful, {stats.failed} failed, "
        f"{stats.cached_tools} tools cached"
    )

"""`toolcrib registry search|show|sync`: servers that could be added, from the registries or from the copy of them."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from toolcrib.cli.exits import FAILED, NOT_FOUND, OK
from toolcrib.cli.open_catalog import settings_of
from toolcrib.cli.output import Output, advice
from toolcrib.cli.progress import Progress
from toolcrib.cli.registry_text import (
    hit_json,
    plan_json,
    print_hits,
    print_plan,
    print_server,
    print_versions,
    server_json,
    source_json,
)
from toolcrib.config.names import slug
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.registry import live_registries, open_lookup, open_mirror
from toolcrib.engine.registry_addresses import registry_addresses
from toolcrib.errors import ConfigurationError, Problem, ToolcribError, ValidationError
from toolcrib.masking.entries import masked_address
from toolcrib.queries.search import check_query
from toolcrib.registry.bundle import open_bundle
from toolcrib.registry.entry import RegistryServer
from toolcrib.registry.lookup import RegistryLookup
from toolcrib.registry.mirror import Mirror
from toolcrib.registry.recipe import Bundle, Refused
from toolcrib.registry.recipes import plans
from toolcrib.registry.sync import SyncReport


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    settings = settings_of(options, output)
    if not registry_addresses(settings):
        raise ConfigurationError([Problem("registry.urls", "no registry is named", str(settings.file or ""))])
    action = {"search": _search, "show": _show, "sync": _sync}[options.action]
    with closing(open_mirror(settings, Paths.of(os.environ))) as mirror:
        return action(options, settings, mirror, output)


def _search(options: argparse.Namespace, settings: Settings, mirror: Mirror, output: Output) -> int:
    query = " ".join(options.query)
    check_query(query, options.limit, longest=settings.max_query_characters)
    found = asyncio.run(_lookup(options, settings, mirror).search(query, options.limit))
    for trouble in found.troubles:
        output.note(f"not asked: {trouble}")
    if output.as_json:
        output.json({"results": [hit_json(hit) for hit in found.hits], **source_json(found.place, found.read_at)})
    else:
        print_hits(query, found, output, now=time.time())
    return OK if found.hits else NOT_FOUND


def _show(options: argparse.Namespace, settings: Settings, mirror: Mirror, output: Output) -> int:
    if options.versions:
        return _show_versions(options, settings, mirror, output)
    found = asyncio.run(_lookup(options, settings, mirror).server(options.name))
    if options.bundle:
        return _show_bundle(found.server, Path(options.bundle), output)
    if output.as_json:
        output.json({**server_json(found.server, _has_runtime), **source_json(found.place, found.read_at)})
    else:
        print_server(found, output.out, has_runtime=_has_runtime, now=time.time())
    return OK


def _show_bundle(server: RegistryServer, file: Path, output: Output) -> int:
    """Check and unpack a bundle that a person downloaded, and show how it is started."""
    bundle = next((plan for plan in plans(server) if isinstance(plan, Bundle)), None)
    if bundle is None:
        raise ValidationError(f"{server.name} is not offered as an MCPB file")
    folder = Paths.of(os.environ).bundles_dir / slug(f"{server.short_name}-{server.version}")
    try:
        recipe = open_bundle(file.read_bytes(), bundle.sha256, folder, server.short_name)
    except (Refused, OSError) as problem:
        raise ValidationError(f"{file.name} can't be used: {problem}", hint=f"Download it from {bundle.url}") from None
    if output.as_json:
        output.json(plan_json(server, recipe))
    else:
        print_plan(server, recipe, output.out, is_chosen=True, has_runtime=_has_runtime)
    return OK


def _show_versions(options: argparse.Namespace, settings: Settings, mirror: Mirror, output: Output) -> int:
    async def ask() -> list[Any]:
        async with live_registries(settings, mirror) as registries:
            return list(await registries.versions(options.name))

    versions = asyncio.run(ask())
    if output.as_json:
        shown = [{"version": one.version, "status": one.status, "publishedAt": one.published_at} for one in versions]
        output.json({"name": options.name, "versions": shown})
    elif versions:
        print_versions(versions, output.out)
    else:
        output.note("no registry lists a version of that server")
    return OK if versions else NOT_FOUND


def _sync(options: argparse.Namespace, settings: Settings, mirror: Mirror, output: Output) -> int:
    addresses = registry_addresses(settings)
    reports: list[SyncReport] = []
    failures: dict[str, ToolcribError] = {}
    sync_one = import_module("toolcrib.engine.live_registry").sync_one
    shown = {address: masked_address(address) for address in addresses}
    with Progress(output.err, "Reading registries", [*shown.values()], is_quiet=output.is_quiet) as progress:
        for address, name in shown.items():
            progress.started(name)
            working = sync_one(settings, mirror, address, is_full=options.full, on_page=_reporter(progress, name))
            try:
                report: SyncReport = asyncio.run(working)
            except ToolcribError as error:
                failures[name] = error
                progress.failed(name, "not read")  # the reason follows, with what to do
            else:
                reports.append(report)
                progress.done(name, f"{report.entries} entries{_left_out(report)}")
    _tell(reports, failures, len(mirror.servers(addresses)), output)
    return FAILED if failures else OK


def _reporter(progress: Progress, name: str) -> Callable[[str, int, int], None]:
    def on_page(_: str, pages: int, entries: int) -> None:
        progress.going_on(name, f"{entries} entries on {pages} pages")

    return on_page


def _tell(reports: list[SyncReport], failures: dict[str, ToolcribError], known: int, output: Output) -> None:
    if output.as_json:
        output.json(
            {
                "servers": known,
                "synced": [_report_json(report) for report in reports],
                "failed": [
                    {"registry": address, "code": error.code, "message": error.message, "hint": error.hint}
                    for address, error in failures.items()
                ],
            }
        )
        return
    if known:
        output.out.paragraph(f"{known} servers can be searched without network: toolcrib registry search QUERY")
    else:
        output.out.write("No server can be searched without network yet.")
    for error in failures.values():
        output.err.paragraph(f"toolcrib: {error.message}")
        for line in advice(error):
            output.err.paragraph(line)
    if failures:
        output.err.paragraph("Run `toolcrib registry sync` again when that is fixed: it continues where it stopped.")


def _report_json(report: SyncReport) -> dict[str, Any]:
    return {
        "registry": masked_address(report.registry),
        "pages": report.pages,
        "entries": report.entries,
        "leftOut": report.skipped_count,
        "full": report.is_full,
        "resumed": report.was_resumed,
    }


def _left_out(report: SyncReport) -> str:
    return f", {report.skipped_count} left out as unusable" if report.skipped_count else ""


def _lookup(options: argparse.Namespace, settings: Settings, mirror: Mirror) -> RegistryLookup:
    return open_lookup(settings, mirror, is_live=options.live)


def _has_runtime(program: str) -> bool:
    return shutil.which(program) is not None

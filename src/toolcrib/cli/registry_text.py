"""Servers of registries in words and as JSON: what they are, how they would be launched, how a person adds one."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from toolcrib.cli.ages import ago
from toolcrib.cli.output import Output
from toolcrib.cli.table import print_table
from toolcrib.cli.terminal import Terminal
from toolcrib.config.names import slug
from toolcrib.masking.entries import masked_address
from toolcrib.model.clean_text import clean
from toolcrib.registry.choose import best_plan
from toolcrib.registry.entry import RegistryServer
from toolcrib.registry.lookup import FoundServer, FoundServers, Place
from toolcrib.registry.recipe import Bundle, Need, Plan, Recipe
from toolcrib.registry.recipes import plans
from toolcrib.registry.search import RegistryHit
from toolcrib.registry.trust import REASONS, tier_of

UNCHECKED = "Nobody has checked what this server does. Look at it before you add it."

HasRuntime = Callable[[str], bool]


def print_hits(query: str, found: FoundServers, output: Output, *, now: float) -> None:
    out = output.out
    where = _source(found.place, found.read_at, now)
    if not found.hits:
        output.note(f"No server fits ({where}). Try other words.")
        return
    out.paragraph(f'Servers for "{clean(query)}" ({len(found.hits)} found, {where}):', "", "bold")
    for number, hit in enumerate(found.hits, start=1):
        indent = " " * (len(str(number)) + 2)
        mark = " (deprecated)" if hit.server.status == "deprecated" else ""
        out.write()
        out.write(f"{number}. {out.paint(hit.server.name, 'bold')} ({round(hit.relevance * 100)}% match){mark}")
        if hit.server.description:
            out.paragraph(clean(hit.server.description), indent)
        out.paragraph(clean("; ".join(hit.reasons)), indent, "dim")
    out.write()
    out.paragraph("`toolcrib registry show NAME` says how to add one.")


def print_server(found: FoundServer, out: Terminal, *, has_runtime: HasRuntime, now: float) -> None:
    server = found.server
    out.write(f"{out.paint('Server:', 'bold')} {server.name} {clean(server.version)}".rstrip())
    if server.status != "active":
        out.paragraph(f"Status: {server.status}. {clean(server.status_message)}".rstrip(), "", "red")
    out.paragraph(clean(server.description), "  ")
    for link in filter(None, (server.website, server.repository)):
        out.paragraph(clean(link), "  ", "dim")
    out.paragraph(f"{REASONS[tier_of(server.name, server.registry)]}; {_source(found.place, found.read_at, now)}", "  ")
    chosen = best_plan(server, has_runtime=has_runtime)
    for plan in sorted(plans(server), key=lambda plan: plan != chosen):
        out.write()
        print_plan(server, plan, out, is_chosen=plan == chosen, has_runtime=has_runtime)
    out.write()
    out.paragraph(UNCHECKED, "", "yellow")


def print_versions(versions: Sequence[RegistryServer], out: Terminal) -> None:
    rows = [(one.version, one.status, one.published_at) for one in versions]
    print_table(out, ("Version", "Status", "Published"), rows)


def hit_json(hit: RegistryHit) -> dict[str, Any]:
    return {
        "name": hit.server.name,
        "title": hit.server.title,
        "description": hit.server.description,
        "relevance": hit.relevance,
        "trust": hit.tier,
        "status": hit.server.status,
        "registry": masked_address(hit.server.registry),
        "reasons": list(hit.reasons),
    }


def source_json(place: Place, read_at: float) -> dict[str, Any]:
    return {"source": place, "readAt": datetime.fromtimestamp(read_at, UTC).isoformat(timespec="seconds")}


def server_json(server: RegistryServer, has_runtime: HasRuntime) -> dict[str, Any]:
    chosen = best_plan(server, has_runtime=has_runtime)
    return {
        "name": server.name,
        "version": server.version,
        "title": server.title,
        "description": server.description,
        "status": server.status,
        "statusMessage": server.status_message,
        "website": server.website,
        "repository": server.repository,
        "publishedAt": server.published_at,
        "updatedAt": server.updated_at,
        "registry": masked_address(server.registry),
        "trust": tier_of(server.name, server.registry),
        "launchable": chosen is not None,
        "plans": [{**plan_json(server, plan), "proposed": plan == chosen} for plan in plans(server)],
    }


def add_words(server: RegistryServer, recipe: Recipe) -> list[str]:
    """The command line that adds the server; empty where `add` has no words for it."""
    start = ["toolcrib", "add", slug(server.short_name)]
    if recipe.command:
        values = [word for name, value in recipe.env.items() for word in ("--env", f"{name}={value}")]
        return [*start, *values, "--", *recipe.command]
    if recipe.transport == "sse":
        return []
    headers = [word for name, value in recipe.headers.items() for word in ("--header", f"{name}:{value}")]
    return [*start, *headers, recipe.url]


def print_plan(server: RegistryServer, plan: Plan, out: Terminal, *, is_chosen: bool, has_runtime: HasRuntime) -> None:
    proposed = " (proposed)" if is_chosen else ""
    out.write(out.paint(f"{_heading(plan)}{proposed}", "bold"))
    if isinstance(plan, Bundle):
        out.paragraph(f"download {clean(plan.url)}", "  ")
        out.paragraph(f"its SHA-256 must be {plan.sha256}", "  ")
        out.paragraph(f"then: toolcrib registry show {server.name} --bundle FILE", "  ")
    elif isinstance(plan, Recipe):
        out.paragraph(clean(shlex.join(plan.command) if plan.command else plan.url), "  ", "cyan")
        if plan.runtime and not has_runtime(plan.runtime):
            out.paragraph(f"{plan.runtime} is not installed on this machine", "  ", "yellow")
        for warning in plan.warnings:
            out.paragraph(f"Mind: {clean(warning)}", "  ", "yellow")
        for need in plan.needs:
            out.paragraph(_need_text(need), "  ")
        out.paragraph(_adding(server, plan), "  ")
    else:
        out.paragraph(f"can't be used: {clean(plan.reason)}", "  ")


def _heading(plan: Plan) -> str:
    if plan.kind == "remote":
        return "At an address"
    return "No way to run it" if plan.kind == "none" else f"As a package ({clean(plan.kind)})"


def _need_text(need: Need) -> str:
    kind = "required" if need.is_required else "optional"
    secret = ", secret" if need.is_secret else ""
    choices = f" One of: {', '.join(need.choices)}." if need.choices else ""
    text = f"{need.variable} ({kind}{secret}): {need.purpose}. {need.description}".rstrip()
    return clean(text + choices)


def _adding(server: RegistryServer, recipe: Recipe) -> str:
    words = add_words(server, recipe)
    if words:
        return clean(f"To add it: {shlex.join(words)}")
    return clean(f"To add it, write into servers of your file: {slug(server.short_name)}: {_entry_json(recipe)}")


def plan_json(server: RegistryServer, plan: Plan) -> dict[str, Any]:
    """The same as data."""
    if isinstance(plan, Bundle):
        return {"kind": plan.kind, "download": {"url": plan.url, "sha256": plan.sha256}}
    if not isinstance(plan, Recipe):
        return {"kind": plan.kind, "refused": plan.reason}
    return {
        "kind": plan.kind,
        "entry": _entry_json(plan),
        "needs": [_need_json(need) for need in plan.needs],
        "warnings": list(plan.warnings),
        "add": add_words(server, plan),
    }


def _entry_json(recipe: Recipe) -> dict[str, Any]:
    """The launch as an entry of a configuration file."""
    if recipe.command:
        entry: dict[str, Any] = {"command": recipe.command[0], "args": list(recipe.command[1:])}
        return {**entry, "env": dict(recipe.env)} if recipe.env else entry
    entry = {"type": recipe.transport, "url": recipe.url}
    return {**entry, "headers": dict(recipe.headers)} if recipe.headers else entry


def _need_json(need: Need) -> dict[str, Any]:
    return {
        "variable": need.variable,
        "purpose": need.purpose,
        "description": need.description,
        "required": need.is_required,
        "secret": need.is_secret,
        "choices": list(need.choices),
    }


def _source(place: Place, read_at: float, now: float) -> str:
    if place == "live":
        return "asked just now"
    return f"copy of {ago(now - read_at)}"

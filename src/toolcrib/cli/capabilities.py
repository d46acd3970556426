"""`toolcrib capabilities`: tools as capabilities, to look at, write as files, read back and find."""

from __future__ import annotations

import argparse
import asyncio
import os
from dataclasses import asdict
from typing import Any

from toolcrib.ccos.import_files import propose_files, read_capability_files
from toolcrib.ccos.known_capability import KnownCapability
from toolcrib.ccos.query import CapabilityQuery
from toolcrib.ccos.resolution import CapabilityResolver, Resolution
from toolcrib.ccos.rtfs_form import manifest_text
from toolcrib.cli.exits import NOT_FOUND, OK
from toolcrib.cli.opened_capabilities import Opened, opened, person
from toolcrib.cli.output import Output, problem_json
from toolcrib.cli.table import print_table
from toolcrib.config.names import nearest
from toolcrib.config.paths import Paths, expanded
from toolcrib.engine.adapters.registry_offers import open_offers
from toolcrib.errors import CapabilityNotFound, ServerNotFound
from toolcrib.model.clean_text import clean
from toolcrib.model.tool import summarize
from toolcrib.queries.filters import category_named


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    actions = {"list": _list, "show": _show, "export": _export, "import": _import, "resolve": _resolve}
    with opened(options, output) as door:
        return actions[options.action](options, output, door)


def _list(options: argparse.Namespace, output: Output, door: Opened) -> int:
    query = CapabilityQuery(
        id=options.pattern,
        domain=options.domain,
        category=category_named(options.category) if options.category else "",
        provider=options.provider,
        text=options.text,
        status=options.status,
    )
    everything = options.all or options.status is not None
    view = door.capabilities.catalog if everything else door.capabilities.marketplace
    found = view.query(query)
    if output.as_json:
        output.json({"capabilities": [_short_json(capability) for capability in found]})
    elif found:
        rows = [
            (one.id, one.status if one.may_be_used or one.status != "auto_approved" else "disabled", _told(one))
            for one in found
        ]
        print_table(output.out, ("ID", "STATUS", "DOES"), rows)
    else:
        output.out.write("No capability fits.")
    return OK if found else NOT_FOUND


def _show(options: argparse.Namespace, output: Output, door: Opened) -> int:
    catalog = door.capabilities.catalog
    known = catalog.get(options.id)
    if known is None:
        close = nearest(options.id, [capability.id for capability in catalog.known()])
        raise CapabilityNotFound(
            f"no capability is called {options.id!r}",
            hint="`toolcrib capabilities list --all` shows all of them.",
            nearest=[close] if close else [],
        )
    history = door.capabilities.marketplace.history(known.id)
    text = manifest_text(known.manifest)
    if output.as_json:
        output.json({**_short_json(known), "rtfs": text, "history": [one.version for one in history]})
        return OK
    output.out.paragraph(text.rstrip())
    output.out.item("Status: ", known.status + (f" ({known.reason})" if known.reason else ""))
    for earlier in history:
        output.out.write(f"Before: version {clean(earlier.version)}")
    return OK


def _export(options: argparse.Namespace, output: Output, door: Opened) -> int:
    known = door.capabilities.catalog.known()
    unknown = sorted(set(options.servers) - {capability.server for capability in known})
    if unknown:
        raise ServerNotFound(f"no capability is known of a server called {unknown[0]!r}", nearest=[])
    chosen = (one for one in known if not options.servers or one.server in options.servers)
    # What waits for a person's review is not written to where others take it for approved.
    wanted = [one.manifest for one in chosen if not one.waits]
    folder = expanded(options.to) if options.to else None
    files = door.capabilities.files.export(wanted, folder)
    place = folder or door.capabilities.files.root
    if output.as_json:
        output.json({"folder": str(place), "files": [str(file) for file in files]})
    else:
        output.out.paragraph(f"Wrote {len(files)} capabilities to {place}")
    return OK


def _import(options: argparse.Namespace, output: Output, door: Opened) -> int:
    read = read_capability_files(expanded(options.path))
    done = propose_files(read, door.capabilities.review.propose, person(), configured=door.configured)
    if output.as_json:
        servers = [
            {"server": one.server, "tools": one.tools, "reason": one.reason}
            | ({"approvalId": one.proposal.id, "state": one.proposal.state} if one.proposal else {})
            for one in done
        ]
        output.json({"servers": servers, "problems": [problem_json(problem) for problem in read.problems]})
    else:
        for problem in read.problems:
            output.note(f"left out: {problem}")
        for one in done:
            became = f"proposed as {one.proposal.id}" if one.proposal else f"not proposed: {one.reason}"
            output.out.paragraph(clean(f"{one.server} ({one.tools} capabilities): {became}"))
        if not done:
            output.out.paragraph(f"No capability was found in {options.path}")
    return OK if done else NOT_FOUND


def _resolve(options: argparse.Namespace, output: Output, door: Opened) -> int:
    with open_offers(door.settings, Paths.of(os.environ), is_live=options.live) as registry:
        resolver = CapabilityResolver(door.capabilities.catalog, registry)
        found = asyncio.run(resolver.resolve(" ".join(options.wanted), limit=options.limit))
    if registry is None and not found.is_at_hand:
        output.note(
            "the registries were not searched: --live asks them now, `toolcrib registry sync` makes a copy to search"
        )
    if output.as_json:
        output.json(
            {
                "wanted": found.wanted,
                "atHand": found.is_at_hand,
                "candidates": [asdict(candidate) for candidate in found.candidates],
                "troubles": list(found.troubles),
            }
        )
    else:
        _print_candidates(output, found)
    return OK if found.candidates else NOT_FOUND


def _print_candidates(output: Output, found: Resolution) -> None:
    out = output.out
    for trouble in found.troubles:
        output.note(trouble)
    if not found.candidates:
        out.write("Nothing fits.")
    for candidate in found.candidates:
        out.write(f"{out.paint(clean(candidate.id), 'bold')} ({candidate.place}, {candidate.score:.0%})")
        out.paragraph(clean("; ".join(candidate.reasons)), "  ")
        if candidate.next_step:
            out.paragraph(clean(candidate.next_step), "  ", "yellow")


def _told(known: KnownCapability) -> str:
    return known.reason or summarize(known.description)


def _short_json(known: KnownCapability) -> dict[str, Any]:
    return {
        "id": known.id,
        "server": known.server,
        "tool": known.name,
        "description": known.description,
        "address": known.address,
        "domains": list(known.domains),
        "categories": list(known.categories),
        "status": known.status,
        "usable": known.may_be_used,
        "reason": known.reason,
    }

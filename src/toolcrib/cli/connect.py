"""`toolcrib connect`: add our entry to a client, and nothing else."""

from __future__ import annotations

import argparse

from toolcrib.adoption.adopt import carry_out, plan_connection
from toolcrib.cli.exits import CONFIGURATION, OK
from toolcrib.cli.moving import Work, client_named, perform, planned, say, show_json, site_of
from toolcrib.cli.output import Output
from toolcrib.cli.plan_text import plan_json, show_plan
from toolcrib.config.os_keyring import OsKeyring


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: _connect(options))


def _connect(options: argparse.Namespace) -> int:
    site, vault, client = site_of(options), OsKeyring(), client_named(options.client)
    out = Output.of(options).out
    # Naming the one client is the consent; --dry-run only looks.
    options.yes = True
    plan, is_done = planned(
        options,
        Work(
            site,
            plan=lambda: plan_connection(site, vault, client),
            show=lambda plan: None if options.json else show_plan(plan, out, with_diff=options.diff),
            has_work=lambda plan: plan.clients[0].changes_something,
            write=lambda writer, plan: carry_out(writer, site, plan, vault),
        ),
    )
    (found,) = plan.clients
    if options.json:
        show_json(plan_json(plan, is_done=is_done))
    elif not found.by_hand:
        said = "Done. Restart it to see it." if is_done else "Nothing was written."
        say(said if found.changes_something else f"{client.title} has Toolcrib already.")
    return CONFIGURATION if found.by_hand else OK

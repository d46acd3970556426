"""`toolcrib connect`: add our entry to a client, and nothing else."""

from __future__ import annotations

import argparse

from toolcrib.adoption.adopt import carry_out, plan_connection
from toolcrib.cli.exits import CONFIGURATION, OK
from toolcrib.cli.moving import client_named, perform, say, show_json, site_of
from toolcrib.cli.output import Output
from toolcrib.cli.plan_text import plan_json, show_plan
from toolcrib.config.os_keyring import OsKeyring


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: _connect(options))


def _connect(options: argparse.Namespace) -> int:
    site, vault = site_of(options), OsKeyring()
    plan = plan_connection(site, vault, client_named(options.client))
    (client,) = plan.clients
    if not options.json:
        show_plan(plan, Output.of(options).out, with_diff=options.diff)
    has_work = client.changes_something
    # Naming the one client is the consent; --dry-run only looks.
    is_done = has_work and not options.dry_run
    if is_done:
        carry_out(site, plan, vault)
    if options.json:
        show_json(plan_json(plan, is_done=is_done))
    elif not client.by_hand:
        said = "Done. Restart it to see it." if is_done else "Nothing was written."
        say(said if has_work else f"{client.client.title} has Toolcrib already.")
    return CONFIGURATION if client.by_hand else OK

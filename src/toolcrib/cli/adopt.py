"""`toolcrib adopt`: moves the servers of clients into Toolcrib."""

from __future__ import annotations

import argparse

from toolcrib.adoption.adopt import carry_out, plan_adoption
from toolcrib.adoption.plan import Plan
from toolcrib.cli.exits import CONFIGURATION, OK
from toolcrib.cli.moving import Work, client_named, perform, planned, say, show_json, site_of
from toolcrib.cli.output import Output
from toolcrib.cli.plan_text import plan_json, show_plan
from toolcrib.config.os_keyring import OsKeyring


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: _adopt(options))


def _adopt(options: argparse.Namespace) -> int:
    site, vault = site_of(options), OsKeyring()
    to_vault = options.secrets == "keyring"
    if to_vault:
        vault.require()
    chosen = [client_named(name) for name in options.clients]
    out = Output.of(options).out
    plan, is_done = planned(
        options,
        Work(
            site,
            plan=lambda: plan_adoption(site, vault, chosen, to_vault=to_vault, keep=options.keep, local=options.local),
            show=lambda plan: None if options.json else show_plan(plan, out, with_diff=options.diff),
            has_work=lambda plan: plan.changes_something,
            write=lambda writer, plan: carry_out(writer, site, plan, vault),
        ),
    )
    if options.json:
        show_json(plan_json(plan, is_done=is_done))
    else:
        say(_outcome(plan, options, is_done=is_done))
    is_refused = chosen and any(client.by_hand for client in plan.clients)
    return CONFIGURATION if is_refused else OK


def _outcome(plan: Plan, options: argparse.Namespace, *, is_done: bool) -> str:
    if not plan.changes_something:
        return "There is nothing to write."
    if not is_done:
        return "Nothing was written." if not options.dry_run else "A dry run: nothing was written."
    titles = dict.fromkeys(client.client.title for client in plan.clients if client.changes_something)
    restart = f" Restart {', '.join(titles)} to see it;" if titles else ""
    return f"Done.{restart} `toolcrib release` puts everything back."

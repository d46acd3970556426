"""`toolcrib adopt`: the servers of clients move behind the counter."""

from __future__ import annotations

import argparse

from toolcrib.adoption.adopt import carry_out, plan_adoption
from toolcrib.adoption.plan import Plan
from toolcrib.cli.exits import CONFIGURATION, OK
from toolcrib.cli.moving import client_named, may_go_ahead, perform, say, show_json, site_of
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
    plan = plan_adoption(site, vault, chosen, to_vault=to_vault, keep=options.keep)
    if not options.json:
        show_plan(plan, Output.of(options).out, with_diff=options.diff)
    has_work = any(client.changes_something for client in plan.clients)
    is_done = has_work and may_go_ahead(options)
    if is_done:
        carry_out(site, plan, vault)
    if options.json:
        show_json(plan_json(plan, is_done=is_done))
    else:
        say(_outcome(plan, options, has_work=has_work, is_done=is_done))
    is_refused = chosen and any(client.by_hand for client in plan.clients)
    return CONFIGURATION if is_refused else OK


def _outcome(plan: Plan, options: argparse.Namespace, *, has_work: bool, is_done: bool) -> str:
    if not has_work:
        return "There is nothing to write."
    if not is_done:
        return "Nothing was written." if not options.dry_run else "A dry run: nothing was written."
    names = ", ".join(client.client.title for client in plan.clients if client.changes_something)
    return f"Done. Restart {names} to see it; `toolcrib release` puts everything back."

"""`toolcrib adopt`: moves the servers of clients into Toolcrib."""

from __future__ import annotations

import argparse
import os
from importlib import import_module
from pathlib import Path

from toolcrib.adoption.adopt import carry_out, plan_adoption
from toolcrib.adoption.plan import Plan
from toolcrib.cli.exits import CONFIGURATION, OK
from toolcrib.cli.moving import Work, client_named, perform, planned, say, show_json, site_of
from toolcrib.cli.output import Output
from toolcrib.cli.plan_text import plan_json, show_plan
from toolcrib.config.load import load_settings
from toolcrib.config.os_keyring import OsKeyring
from toolcrib.config.paths import Paths


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
            plan=lambda: plan_adoption(
                site,
                vault,
                chosen,
                to_vault=to_vault,
                keep=options.keep,
                local=options.local,
                with_profiles=options.profiles,
            ),
            show=lambda plan: None if options.json else show_plan(plan, out, with_diff=options.diff),
            has_work=lambda plan: plan.changes_something,
            write=lambda writer, plan: carry_out(writer, site, plan, vault),
        ),
    )
    # Only once all of it is written: a sign-in that can't be taken over is made anew, and nothing else fails with it.
    signed_in = _taken_over(options, plan.bridged) if is_done and plan.bridged else {}
    if options.json:
        show_json({**plan_json(plan, is_done=is_done), **({"signIns": signed_in} if signed_in else {})})
    else:
        say(_outcome(plan, options, is_done=is_done))
        for name, is_there in signed_in.items():
            say(f"The sign-in to {name} came along." if is_there else f"Run `toolcrib login {name}` to sign in to it.")
    is_refused = chosen and any(client.by_hand for client in plan.clients)
    return CONFIGURATION if is_refused else OK


def _taken_over(options: argparse.Namespace, names: list[str]) -> dict[str, bool]:
    """Go on with the sign-ins that mcp-remote made to these servers; of each, whether that worked."""
    # Only here: hardly any adoption needs what reaches servers.
    sign_ins = import_module("toolcrib.engine.sign_ins")
    settings = load_settings(Path(options.config) if options.config else None, env=os.environ)
    specs = [spec for spec in settings.servers if spec.name in names]
    taken: dict[str, bool] = sign_ins.take_over_all(settings, Paths.of(os.environ), os.environ, specs)
    return taken


def _outcome(plan: Plan, options: argparse.Namespace, *, is_done: bool) -> str:
    if not plan.changes_something:
        return "There is nothing to write."
    if not is_done:
        return "Nothing was written." if not options.dry_run else "A dry run: nothing was written."
    titles = dict.fromkeys(client.client.title for client in plan.clients if client.changes_something)
    restart = f" Restart {', '.join(titles)} to see it;" if titles else ""
    return f"Done.{restart} `toolcrib release` puts everything back."

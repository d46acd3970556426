"""`toolcrib release`: clients get back what they had."""

from __future__ import annotations

import argparse
from typing import Any

from toolcrib.adoption.give_back import BY_HAND
from toolcrib.adoption.release import ReleasePlan, carry_out_release, plan_release
from toolcrib.cli.exits import CONFIGURATION, OK
from toolcrib.cli.moving import Work, client_named, perform, planned, say, show_json, site_of, tilde
from toolcrib.clients.table import CLIENTS
from toolcrib.config.os_keyring import OsKeyring

_HOW = {
    "restored": "gets back exactly what it had",
    "merged": "was changed since: its servers are put back beside what is there now",
    "unchanged": "is as it was before",
    BY_HAND: "is not released",
}


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: _release(options))


def _release(options: argparse.Namespace) -> int:
    site, vault = site_of(options), OsKeyring()
    chosen = [client_named(name).name for name in options.clients]
    plan, is_done = planned(
        options,
        Work(
            site,
            plan=lambda: plan_release(site, vault, chosen),
            show=lambda plan: None if options.json else _show(plan),
            has_work=lambda plan: any(one.how != BY_HAND for one in plan.clients),
            write=lambda writer, plan: carry_out_release(writer, site, plan, vault),
        ),
    )
    if options.json:
        show_json(_as_json(plan, is_done=is_done))
    elif plan.clients:
        nothing = "A dry run: nothing was written." if options.dry_run else "Nothing was written."
        say("Done. Restart these clients to see it." if is_done else nothing)
    return CONFIGURATION if any(one.how == BY_HAND for one in plan.clients) else OK


def _show(plan: ReleasePlan) -> None:
    if not plan.clients:
        say("Nothing is adopted.")
    for one in plan.clients:
        title = CLIENTS[one.name].title if one.name in CLIENTS else one.name
        say(f"{title}  {tilde(one.path)}")
        say(f"  {_HOW[one.how]}" + (f": {', '.join(one.servers)}" if one.servers else ""))
        for remark in one.remarks:
            say(f"  {remark}")
    if plan.own_removed and plan.own:
        say(f"Toolcrib's file {tilde(plan.own.path)} loses: {', '.join(plan.own_removed)}")
    for remark in plan.remarks:
        say(remark)


def _as_json(plan: ReleasePlan, *, is_done: bool) -> dict[str, Any]:
    clients = [
        {"client": one.name, "file": str(one.path), "how": one.how, "servers": one.servers, "remarks": one.remarks}
        for one in plan.clients
    ]
    return {"success": True, "done": is_done, "clients": clients, "removed": plan.own_removed, "remarks": plan.remarks}

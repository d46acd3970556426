"""`toolcrib release`: clients get back what they had."""

from __future__ import annotations

import argparse
from typing import Any

from toolcrib.adoption.clients import CLIENTS
from toolcrib.adoption.release import ReleasePlan, carry_out_release, plan_release
from toolcrib.cli.exits import OK
from toolcrib.cli.moving import client_named, may_go_ahead, perform, say, show_json, site_of, tilde
from toolcrib.config.os_keyring import OsKeyring

_HOW = {
    "restored": "gets back exactly the file it had",
    "merged": "was changed since: its servers are put back beside what is there now",
    "unchanged": "is as it was before",
}


def run(options: argparse.Namespace) -> int:
    return perform(options, lambda: _release(options))


def _release(options: argparse.Namespace) -> int:
    site, vault = site_of(options), OsKeyring()
    plan = plan_release(site, vault, [client_named(name).name for name in options.clients])
    if not options.json:
        _show(plan)
    is_done = bool(plan.clients) and may_go_ahead(options)
    if is_done:
        carry_out_release(site, plan, vault)
    if options.json:
        show_json(_as_json(plan, is_done=is_done))
    elif plan.clients:
        nothing = "A dry run: nothing was written." if options.dry_run else "Nothing was written."
        say("Done. Restart these clients to see it." if is_done else nothing)
    return OK


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
        say(f"Our own file {tilde(plan.own.path)} loses: {', '.join(plan.own_removed)}")
    for remark in plan.remarks:
        say(remark)


def _as_json(plan: ReleasePlan, *, is_done: bool) -> dict[str, Any]:
    clients = [
        {"client": one.name, "file": str(one.path), "how": one.how, "servers": one.servers, "remarks": one.remarks}
        for one in plan.clients
    ]
    return {"success": True, "done": is_done, "clients": clients, "removed": plan.own_removed, "remarks": plan.remarks}

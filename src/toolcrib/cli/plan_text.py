"""A plan of adoption as people and programs read it."""

from __future__ import annotations

import shlex
from typing import Any

from toolcrib.adoption.plan import ClientPlan, Move, Plan, notes
from toolcrib.cli.moving import say, tilde


def show_plan(plan: Plan) -> None:
    """What was found and what would be done, client by client."""
    for client in plan.clients:
        _show_client(client)
    fresh = [move.name for _, move in plan.moves if move.is_new]
    if fresh:
        new = " (new)" if plan.own.content is None else ""
        say(f"Our own file {tilde(plan.own.path)}{new} gets: {', '.join(dict.fromkeys(fresh))}")
    for idle, why in plan.skipped:
        say(f"{idle.title}: {why}")


def _show_client(plan: ClientPlan) -> None:
    say(f"{plan.client.title}  {tilde(plan.file.path)}")
    for move in plan.moves:
        say(f"  {'copies' if plan.by_hand else 'moves'}  {_move_text(move)}")
    for one in plan.stays:
        say(f"  stays  {one.key}" + (f": {one.stays}" if one.stays else ""))
    _show_variables(plan)
    if plan.by_hand:
        _show_by_hand(plan)
    elif plan.changes_something:
        for line in plan.diff():
            say(f"    {line}")
    say()


def _show_by_hand(plan: ClientPlan) -> None:
    title = plan.client.title
    say(f"  {title} writes this file itself, and its program `claude` was not found: nothing is changed there.")
    if plan.moves:
        say("  Its servers are copied to our own file, so that you lose nothing when you remove them there.")
    say(f"  Install {title} and run this again, or type:")
    for words in plan.by_hand:
        say(f"    {shlex.join(words)}")


def _show_variables(plan: ClientPlan) -> None:
    title = plan.client.title
    if plan.hands_on and plan.changes_something:
        say(f"  {title} hands on to Toolcrib, from its own environment: {', '.join(plan.hands_on)}")
    for server, names in plan.lacking:
        say(
            f"  warning: {server} needs {', '.join(names)}, which {title} does not hand on. Write the value into its entry"
        )
        say(f"  in our file, or leave the server where it is with --keep {server}.")


def _move_text(move: Move) -> str:
    name = move.listed.key + (f" (as {move.name})" if move.name != move.listed.key else "")
    secrets = f", {len(move.secrets)} of its values to the keyring" if move.secrets else ""
    note = notes(move)
    return f"{name}{secrets}" + (f"; {note}" if note else "")


def plan_json(plan: Plan, *, is_done: bool) -> dict[str, Any]:
    """The same for programs."""
    return {
        "success": True,
        "done": is_done,
        "config": str(plan.own.path),
        "clients": [_client_json(client) for client in plan.clients],
        "skipped": [{"client": client.name, "why": why} for client, why in plan.skipped],
    }


def _client_json(plan: ClientPlan) -> dict[str, Any]:
    found: dict[str, Any] = {
        "client": plan.client.name,
        "file": str(plan.file.path),
        "moves": [_move_json(move) for move in plan.moves],
        "stays": [{"name": one.key, "why": one.stays} for one in plan.stays],
    }
    if plan.hands_on and plan.changes_something:
        found["handsOn"] = list(plan.hands_on)
    if plan.lacking:
        found["lacking"] = [{"name": server, "variables": list(names)} for server, names in plan.lacking]
    if plan.by_hand:
        return {**found, "byHand": plan.by_hand}
    entry = {"entry": plan.entry_key} if plan.entry_key else {}
    return {**found, **entry, "diff": plan.diff() if plan.changes_something else []}


def _move_json(move: Move) -> dict[str, Any]:
    more = {"secrets": list(move.secrets), "note": notes(move)}
    return {"name": move.listed.key, "as": move.name, **{key: value for key, value in more.items() if value}}

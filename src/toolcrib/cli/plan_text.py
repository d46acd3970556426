"""A plan of adoption as people and programs read it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

from toolcrib.adoption.plan import ClientPlan, Move, Plan, notes
from toolcrib.cli.terminal import Terminal, home_as_tilde

_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def show_plan(plan: Plan, out: Terminal, *, with_diff: bool) -> None:
    """What would move and what would stay, client by client; the changed lines of each file only where asked for."""
    for client in plan.clients:
        _show_client(client, out, with_diff=with_diff)
    for idle, why in plan.skipped:
        out.item(f"{idle.title}: ", why)
    if plan.skipped:
        out.write()
    fresh = dict.fromkeys(move.name for _, move in plan.moves if move.is_new)
    if fresh:
        new = " (new)" if plan.own.content is None else ""
        out.paragraph(f"Toolcrib's file {home_as_tilde(str(plan.own.path))}{new} gets: {', '.join(fresh)}")
    changed = sum(client.changes_something for client in plan.clients)
    if changed and not with_diff:
        where = "The client's file gets" if changed == 1 else f"Each of the {changed} clients' files gets"
        out.paragraph(f"{where} one entry for Toolcrib; --diff shows every line that changes.")


def _show_client(plan: ClientPlan, out: Terminal, *, with_diff: bool) -> None:
    out.write(f"{out.paint(plan.client.title, 'bold')}  {home_as_tilde(str(plan.file.path))}")
    for text in _move_texts(plan.moves):
        out.item("  copies  " if plan.by_hand else "  moves  ", text)
    for one in plan.stays:
        out.item("  stays  ", one.key + (f": {one.stays}" if one.stays else ""))
    if plan.profile:
        out.item("  profile  ", f"{plan.profile}: it sees these servers {'only' if plan.entry_key else 'too'}")
    _show_variables(plan, out)
    if plan.by_hand:
        _show_by_hand(plan, out)
    elif plan.changes_something and with_diff:
        _show_diff(plan.diff(), out)
    out.write()


def _move_texts(moves: Iterable[Move]) -> list[str]:
    """The names of what simply moves in one line, and a line for each move there is more to say of."""
    texts = [_move_text(move) for move in moves]
    plain = [text for move, text in zip(moves, texts, strict=True) if text == move.listed.key]
    return [*([", ".join(plain)] if plain else []), *(text for text in texts if text not in plain)]


def _show_by_hand(plan: ClientPlan, out: Terminal) -> None:
    title = plan.client.title
    out.paragraph(
        f"{title} writes this file itself, and its program `claude` was not found: nothing is changed there.", "  "
    )
    if plan.moves:
        out.paragraph(
            "Its servers are copied to Toolcrib's file, so that you lose nothing when you remove them there.", "  "
        )
    out.paragraph(f"Install {title} and run this again, or type:", "  ")
    for words in plan.by_hand:
        # Whole, however long: it is there to be copied.
        out.write(f"    {shlex.join(words)}")


def _show_variables(plan: ClientPlan, out: Terminal) -> None:
    title = plan.client.title
    if plan.hands_on and plan.changes_something:
        out.paragraph(f"{title} hands on to Toolcrib, from its own environment: {', '.join(plan.hands_on)}", "  ")
    for server, names in plan.lacking:
        out.paragraph(
            f"warning: {server} needs {', '.join(names)}, which {title} does not hand on. Write the value into its entry "
            f"in Toolcrib's file, or leave the server where it is with --keep {server}.",
            "  ",
        )


def _move_text(move: Move) -> str:
    name = move.listed.key + (f" (as {move.name})" if move.name != move.listed.key else "")
    secrets = f", {len(move.secrets)} of its values to the keyring" if move.secrets else ""
    note = notes(move)
    return f"{name}{secrets}" + (f"; {note}" if note else "")


def _show_diff(lines: Iterable[str], out: Terminal) -> None:
    # The two lines at the top only repeat the file's name.
    for line in list(lines)[2:]:
        out.item(f"    {line[:1]}", line[1:], _DIFF_STYLES.get(line[:1], "dim"), whole=True)


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
    if plan.profile:
        found["profile"] = plan.profile
    if plan.lacking:
        found["lacking"] = [{"name": server, "variables": list(names)} for server, names in plan.lacking]
    if plan.by_hand:
        return {**found, "byHand": plan.by_hand}
    entry = {"entry": plan.entry_key} if plan.entry_key else {}
    return {**found, **entry, "diff": plan.diff() if plan.changes_something else []}


def _move_json(move: Move) -> dict[str, Any]:
    more = {"secrets": list(move.secrets), "note": notes(move)}
    return {"name": move.listed.key, "as": move.name, **{key: value for key, value in more.items() if value}}

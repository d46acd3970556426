"""Adopting: the servers of clients move into Toolcrib, and each client gets one entry for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from toolcrib.adoption.client_file import ClientFile
from toolcrib.adoption.client_steps import client_steps
from toolcrib.adoption.plan import ClientPlan, Plan
from toolcrib.adoption.planner import Planner
from toolcrib.adoption.records import recorded
from toolcrib.adoption.secrets import Vault
from toolcrib.adoption.site import Site
from toolcrib.adoption.vault_step import KeepSecrets
from toolcrib.adoption.writer import Writer
from toolcrib.adoption.writes import PRIVATE
from toolcrib.clients.client import Client
from toolcrib.clients.table import CLIENTS
from toolcrib.errors import ConfigurationError


def plan_adoption(
    site: Site,
    vault: Vault,
    chosen: Collection[Client] = (),
    *,
    to_vault: bool = False,
    keep: Collection[str] = (),
    local: bool = False,
    with_profiles: bool = False,
) -> Plan:
    """What adopting these clients would do; without any, all that have servers to move."""
    files, skipped = _files(site, chosen)
    planner = Planner(site, vault, to_vault=to_vault, keep=keep, local=local, with_profiles=with_profiles)
    plan = planner.plan(files)
    busy = {one.client.name for one in plan.clients if chosen or not _is_idle(one)}
    first = {one.client.name: one for one in reversed(plan.clients)}
    kept = [one for one in plan.clients if one.client.name in busy and (one.says_something or one in first.values())]
    skipped += [(one.client, _why_idle(one)) for name, one in reversed(first.items()) if name not in busy]
    return replace(plan, clients=tuple(kept), skipped=tuple(skipped))


def plan_connection(site: Site, vault: Vault, client: Client) -> Plan:
    """What adding only our entry to one client would do; a file that is not there is made."""
    plan = Planner(site, vault).plan(site.client_files(client), with_servers=False)
    return replace(plan, clients=plan.clients[:1])


def carry_out(writer: Writer, site: Site, plan: Plan, vault: Vault) -> None:
    """Do what was planned: all of it, or on any trouble nothing, also when a file is not as the plan saw it."""
    # What could only be copied is recorded too: release has to know that the copies are not needed any more.
    changed = [one for one in plan.clients if one.changes_something or (one.by_hand and one.moves)]
    journal, backups = recorded(site, plan, changed)
    clients = [step for one in plan.clients for step in client_steps(site, one.file, one.after)]
    own = plan.own.rewritten(plan.own_after, PRIVATE)
    secrets = KeepSecrets(vault, plan.secrets)
    # The journal before what it is about: whatever happens then, release knows what to put back.
    writer.take([secrets, *backups, plan.journal.rewritten(journal), own, *clients])


def _files(site: Site, chosen: Collection[Client]) -> tuple[list[ClientFile], list[tuple[Client, str]]]:
    """The files to look at; a broken one costs itself alone, unless it was asked for."""
    files: list[ClientFile] = []
    skipped: list[tuple[Client, str]] = []
    for client in chosen or CLIENTS.values():
        try:
            found = site.client_files(client)
            for file in found:
                file.listed(site.address)
        except ConfigurationError as error:
            if chosen:
                raise
            skipped.append((client, error.message))
            continue
        files += [file for file in found if file.content is not None]
        if chosen and all(file.content is None for file in found):
            raise found[0].unusable(
                "",
                f"does not exist, so {client.title} has no servers to move; `toolcrib connect {client.name}` adds Toolcrib",
            )
    return files, skipped


def _is_idle(plan: ClientPlan) -> bool:
    """Whether there is nothing to move, and no entry of ours to bring up to date."""
    has_entry = not plan.entry_key
    return not plan.moves and not (has_entry and plan.changes_something)


def _why_idle(plan: ClientPlan) -> str:
    if plan.stays:
        return "nothing to move: " + "; ".join(f"{one.key} stays: {one.stays}" for one in plan.stays)
    return (
        "adopted already" if not plan.entry_key else f"no servers; `toolcrib connect {plan.client.name}` adds Toolcrib"
    )

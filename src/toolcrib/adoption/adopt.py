"""Adopting: the servers of clients go behind the counter, and each client gets one entry for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace

from toolcrib.adoption.client_file import ClientFile
from toolcrib.adoption.clients import CLIENTS, Client
from toolcrib.adoption.plan import ClientPlan, Plan
from toolcrib.adoption.planner import Planner
from toolcrib.adoption.records import recorded
from toolcrib.adoption.secrets import Vault
from toolcrib.adoption.site import Site
from toolcrib.adoption.writer import Writer
from toolcrib.adoption.writes import PRIVATE, FileWrite
from toolcrib.errors import ConfigurationError


def plan_adoption(
    site: Site, vault: Vault, chosen: Collection[Client] = (), *, to_vault: bool = False, keep: Collection[str] = ()
) -> Plan:
    """What adopting these clients would do; without any, all that have servers to move."""
    files, skipped = _files(site, chosen)
    plan = Planner(site, vault, to_vault=to_vault, keep=keep).plan(files)
    if chosen:
        return replace(plan, skipped=tuple(skipped))
    idle = [client for client in plan.clients if _is_idle(client)]
    skipped += [(client.client, _why_idle(client)) for client in idle]
    kept = tuple(client for client in plan.clients if client not in idle)
    return replace(plan, clients=kept, skipped=tuple(skipped))


def plan_connection(site: Site, vault: Vault, client: Client) -> Plan:
    """What adding only our entry to one client would do; a file that is not there is made."""
    return Planner(site, vault).plan([site.client_file(client)], with_servers=False)


def carry_out(writer: Writer, site: Site, plan: Plan, vault: Vault) -> None:
    """Do what was planned: all of it, or on any trouble nothing, also when a file is not as the plan saw it."""
    changed = [client for client in plan.clients if client.changes_something and not client.by_hand]
    journal, backups = recorded(site, plan, changed)
    clients = [FileWrite(one.file.path, one.file.content, one.after) for one in plan.clients]
    own = plan.own.rewritten(plan.own_after, PRIVATE)
    with _stored(plan.secrets, vault):
        # The journal first: whatever happens after it, release knows what to put back.
        writer.take([*backups, plan.journal.rewritten(journal), own, *clients])


def _files(site: Site, chosen: Collection[Client]) -> tuple[list[ClientFile], list[tuple[Client, str]]]:
    """The files to look at; a broken one costs itself alone, unless it was asked for."""
    files: list[ClientFile] = []
    skipped: list[tuple[Client, str]] = []
    for client in chosen or CLIENTS.values():
        try:
            file = site.client_file(client)
            file.listed(site.address)
        except ConfigurationError as error:
            if chosen:
                raise
            skipped.append((client, error.message))
            continue
        if file.content is not None:
            files.append(file)
        elif chosen:
            raise file.unusable(
                "", f"is not there: {client.title} has no servers; `toolcrib connect {client.name}` adds Toolcrib"
            )
    return files, skipped


def _is_idle(plan: ClientPlan) -> bool:
    """Whether there is nothing to move, and no entry of ours to bring up to date."""
    has_entry = not plan.entry_key
    return not plan.moves and not plan.by_hand and not (has_entry and plan.changes_something)


def _why_idle(plan: ClientPlan) -> str:
    if plan.stays:
        return "nothing to move: " + "; ".join(f"{one.key} stays: {one.stays}" for one in plan.stays)
    return (
        "adopted already" if not plan.entry_key else f"no servers; `toolcrib connect {plan.client.name}` adds Toolcrib"
    )


@contextmanager
def _stored(secrets: dict[str, str], vault: Vault) -> Iterator[None]:
    """Have the secrets in the vault; they are taken out again when what follows fails."""
    if not secrets:
        yield
        return
    vault.require()
    before = {name: vault.get(name) for name in secrets}
    try:
        for name, secret in secrets.items():
            vault.put(name, secret)
        yield
    except BaseException:
        for name, earlier in before.items():
            if earlier is None:
                vault.drop(name)
            else:
                vault.put(name, earlier)
        raise

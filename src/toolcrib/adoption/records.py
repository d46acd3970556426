"""A plan as it is written down: the journal after it, and the backups the journal speaks of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from toolcrib.adoption.journal import (
    ClientRecord,
    Journal,
    MovedServer,
    OwnRecord,
    ProfileRecord,
    Seal,
    ServerRecord,
    digest,
    entry_digest,
)
from toolcrib.adoption.plan import ClientPlan, Move, Plan
from toolcrib.adoption.secrets import sealed
from toolcrib.adoption.site import Site
from toolcrib.adoption.writes import FileWrite
from toolcrib.errors import ConfigurationError, Problem


def recorded(site: Site, plan: Plan, changed: Iterable[ClientPlan]) -> tuple[Journal, list[FileWrite]]:
    """The journal as it will be, and the backups to be written before it."""
    known = plan.journal.journal()
    if known.own and known.own.file != str(plan.own.path):
        message = f"servers were adopted into {known.own.file}; `toolcrib release` them first"
        raise ConfigurationError([Problem("", message, str(plan.own.path))])
    making = _Making(site, known)
    journal = Journal(
        own=making.own(plan),
        clients=dict(known.clients),
        servers=dict(known.servers),
        profiles=dict(known.profiles),
    )
    for client in changed:
        key = journal.key_of(client.client.name, client.file.path)
        journal.clients[key] = making.client(client, known.clients.get(key))
        journal.servers.update(_servers(client.moves, key, journal.servers))
        if client.profile and _is_ours(client.profile, plan, known):
            written = entry_digest(plan.profiles[client.profile])
            journal.profiles[client.profile] = ProfileRecord(key, written)
    journal = msgspec.structs.replace(journal, seals={**known.seals, **making.seals})
    return journal, list(making.backups.values())


def _is_ours(profile: str, plan: Plan, known: Journal) -> bool:
    """Whether a profile is new, or still as we wrote it; one that a person changed stays theirs."""
    there, record = plan.own.profiles.get(profile), known.profiles.get(profile)
    return there is None or (record is not None and entry_digest(there) == record.entry)


@dataclass(slots=True)
class _Making:
    site: Site
    known: Journal
    backups: dict[str, FileWrite] = field(default_factory=dict)
    seals: dict[str, Seal] = field(default_factory=dict)

    def own(self, plan: Plan) -> OwnRecord | None:
        known, before = self.known.own, plan.own.content
        if plan.own_after == before:
            return known
        if known is None:
            backup = self._backup("own", before)
            return OwnRecord(str(plan.own.path), backup, digest(before), digest(plan.own_after), mode=plan.own.mode)
        found = digest(before)
        return msgspec.structs.replace(
            known,
            after=digest(plan.own_after),
            earlier=(*known.earlier, known.after),
            is_intact=known.is_as_we_left_it(found) or (known.is_intact and found == known.before),
        )

    def client(self, plan: ClientPlan, known: ClientRecord | None) -> ClientRecord:
        before = plan.file.content
        backup = self._backup(plan.client.name, self._sealed(before, plan.moves))
        moved = tuple(MovedServer(move.listed.key, move.name, backup, move.listed.place) for move in plan.moves)
        file, after = str(plan.file.path), digest(plan.after)
        # A record of a write that never happened is as good as none.
        if known is None or known.before == digest(before):
            return ClientRecord(file, plan.entry_key, (backup,), digest(before), after, moved=moved)
        return msgspec.structs.replace(
            known,
            entry=plan.entry_key or known.entry,
            backups=(*known.backups, backup),
            after=after,
            earlier=(*known.earlier, known.after),
            is_intact=known.is_as_we_left_it(digest(before)),
            moved=(*known.moved, *moved),
        )

    def _sealed(self, content: bytes | None, moves: Iterable[Move]) -> bytes | None:
        secrets = {name: secret for move in moves for name, secret in move.secrets.items()}
        if content is None or not secrets:
            return content
        hidden, seals = sealed(content, secrets)
        self.seals.update(seals)
        return hidden

    def _backup(self, owner: str, content: bytes | None) -> str:
        if content is None:
            return ""
        name = self.site.free_backup(owner, self.backups)
        self.backups[name] = FileWrite(self.site.folder / name, None, content)
        return name


def _servers(moves: Iterable[Move], key: str, known: Mapping[str, ServerRecord]) -> dict[str, ServerRecord]:
    """The records of the servers that came with these moves, from the client recorded under `key`."""
    servers: dict[str, ServerRecord] = {}
    for move in moves:
        record = servers.get(move.name) or known.get(move.name)
        if record is None and not move.is_new:
            # Ours before we came: nobody's to take away.
            continue
        clients = tuple(dict.fromkeys((*(record.clients if record else ()), key)))
        if record is None or move.is_new:
            record = ServerRecord((), entry_digest(move.entry), tuple(move.secrets))
        servers[move.name] = msgspec.structs.replace(record, clients=clients)
    return servers

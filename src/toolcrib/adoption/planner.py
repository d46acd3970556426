"""Works out a plan: which entries move, under which names, and what every file looks like afterwards."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from toolcrib.adoption.client_entry import added, free_key, refreshed
from toolcrib.adoption.client_file import ClientFile, Listed
from toolcrib.adoption.clients import Client
from toolcrib.adoption.entry import entry_of
from toolcrib.adoption.environment import needed_variables
from toolcrib.adoption.plan import ClientPlan, Move, Plan
from toolcrib.adoption.secrets import Vault, moved_to_vault, named_secrets, with_secrets
from toolcrib.adoption.site import Site
from toolcrib.config.names import shorten, slug
from toolcrib.edit.changes import Change, Drop
from toolcrib.model.server import BUILT_IN_SERVER, Origin, ServerSpec

_KEPT = "you asked to keep it there"
_NOT_WRITTEN = "the file is not written"


@dataclass(frozen=True, slots=True)
class _Found:
    """What a client's file lists, and what of it moves and stays."""

    file: ClientFile
    listed: list[Listed]
    moves: tuple[Move, ...]
    stays: tuple[Listed, ...]


class Planner:
    """Collects the moves of several clients; the same server in two of them moves once."""

    def __init__(self, site: Site, vault: Vault, *, to_vault: bool = False, keep: Collection[str] = ()) -> None:
        self._site = site
        self._vault = vault
        self._to_vault = to_vault
        self._keep = keep
        self._own = site.own_file()
        self._journal = site.journal_file()
        self._taken = {name: _bare(with_secrets(spec, vault)) for name, spec in self._own.servers.items()}
        self._moved: dict[str, Move] = {}

    def plan(self, files: Iterable[ClientFile], *, with_servers: bool = True) -> Plan:
        """The whole plan for these files."""
        found = [self._found(file, with_servers) for file in files]
        # Whichever client starts us, we stand in front of all of these.
        specs = [*self._own.servers.values(), *(one.spec for each in found for one in each.listed if one.spec)]
        variables = needed_variables(specs)
        clients = tuple([self._client(each, variables) for each in found])
        fresh = {move.name: move.entry for move in self._moved.values() if move.is_new}
        # The first thing a client of ours asks for is the file: without one, `sources: auto` holds anyway.
        own_after = self._own.with_servers(fresh) if fresh else self._own.content
        return Plan(self._own, own_after, clients, self._journal)

    def _found(self, file: ClientFile, with_servers: bool) -> _Found:
        listed = file.listed(self._site.address)
        kept = [self._judged(one, file.client) for one in listed if not one.is_gateway]
        movable = [one for one in kept if one.spec] if with_servers else []
        moves = tuple([self._move(one, file.client) for one in movable])
        return _Found(file, listed, moves, tuple(one for one in kept if one not in movable))

    def _client(self, found: _Found, variables: tuple[str, ...]) -> ClientPlan:
        file, client = found.file, found.file.client
        ours = next((one for one in found.listed if one.is_gateway), None)
        key = "" if ours else free_key(one.key for one in found.listed)
        names = client.environment.handed_on(variables, self._site.machine.env)
        entry = client.entry(self._site.launch, names)
        by_hand = client.by_hand(self._site.launch)
        if ours:
            changes = refreshed(ours.place, ours.raw, entry) if self._is_written_by_us(ours, file) else []
        else:
            changes = added(file, key, entry, len(found.listed))
        changes = [] if by_hand else [*changes, *_removals(found.moves)]
        after = file.edited(changes) if changes else file.content
        return ClientPlan(
            file,
            found.moves,
            found.stays,
            key,
            entry,
            after,
            [] if ours else by_hand,
            hands_on=names,
            lacking=tuple(_lacking(found.moves, client)),
        )

    def _is_written_by_us(self, ours: Listed, file: ClientFile) -> bool:
        record = self._journal.journal().clients.get(file.client.name)
        return record is not None and (record.file, record.entry) == (str(file.path), ours.key)

    def _judged(self, one: Listed, client: Client) -> Listed:
        why = _NOT_WRITTEN if client.command else _KEPT if one.key in self._keep else ""
        return replace(one, spec=None, stays=why) if why else one

    def _move(self, one: Listed, client: Client) -> Move:
        spec = one.spec
        assert spec is not None
        name = self._name(spec, client)
        if name in self._moved:
            return replace(self._moved[name], listed=one)
        is_new = name not in self._own.servers
        renamed = replace(spec, name=name, title=spec.title or (spec.name if name != spec.name else ""))
        entry = entry_of(renamed)
        secrets = {} if is_new else named_secrets(self._own.servers[name], self._vault)
        if self._to_vault and is_new:
            entry, secrets = moved_to_vault(name, entry)
        move = self._moved[name] = Move(one, name, is_new, entry, secrets)
        self._taken[name] = _bare(spec)
        return move

    def _name(self, spec: ServerSpec, client: Client) -> str:
        """The name of the same server if it is there already, else a free one."""
        bare = _bare(spec)
        same = [name for name, other in self._taken.items() if other == bare]
        if same:
            return spec.name if spec.name in same else same[0]
        return next(name for name in _names(spec.name, client.name) if name not in self._taken)


def _lacking(moves: Iterable[Move], client: Client) -> Iterator[tuple[str, tuple[str, ...]]]:
    for move in moves:
        spec = move.listed.spec
        names = [name for name in needed_variables([spec] if spec else []) if client.environment.lacks(name)]
        if names:
            yield move.listed.key, tuple(names)


def _bare(spec: ServerSpec) -> ServerSpec:
    """The server less everything that is only said about it."""
    return replace(spec, name="", title="", description="", origin=Origin(), declared_tools=())


def _names(name: str, client: str) -> Iterator[str]:
    if name.lower() != BUILT_IN_SERVER:
        yield name
    renamed = f"{name}-{slug(client)}"
    yield shorten(renamed, renamed)
    for number in itertools.count(2):
        yield shorten(f"{renamed}-{number}", f"{renamed}-{number}")


def _removals(moves: Iterable[Move]) -> list[Change]:
    # From the end, so that the numbers of list items before stay true.
    return [Drop(move.listed.place) for move in reversed(list(moves))]

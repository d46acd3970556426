"""Works out a plan: which entries move, under which names, and what every file looks like afterwards."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolcrib.adoption.claude_code import words
from toolcrib.adoption.client_entry import added, free_key, refreshed
from toolcrib.adoption.client_file import ClientFile, Listed
from toolcrib.adoption.client_profiles import extended, free_profile, profile_of
from toolcrib.adoption.environment import needed_variables
from toolcrib.adoption.journal import client_of
from toolcrib.adoption.judge import Judge, unclear_keys
from toolcrib.adoption.own_file import OwnFile
from toolcrib.adoption.plan import ClientPlan, Move, Plan
from toolcrib.adoption.secrets import Vault, moved_to_vault, named_secrets, with_secrets
from toolcrib.adoption.site import Site
from toolcrib.clients.client import Client
from toolcrib.clients.own_entry import Entry
from toolcrib.config.names import shorten, slug
from toolcrib.config.written_entry import entry_of
from toolcrib.edit.changes import Change, Drop
from toolcrib.model.server import BUILT_IN_SERVER, Origin, ServerSpec


@dataclass(frozen=True, slots=True)
class _Found:
    """What a client's file lists, and what of it moves and stays."""

    file: ClientFile
    listed: list[Listed]
    moves: tuple[Move, ...]
    stays: tuple[Listed, ...]

    @property
    def ours(self) -> Listed | None:
        """Our own entry, where the client uses it everywhere."""
        return next((one for one in self.listed if one.is_gateway and not one.folder), None)

    @property
    def keys(self) -> list[str]:
        """The names that are taken where our entry goes."""
        return [one.key for one in self.listed if not one.folder]


class Planner:
    """Collects the moves of several clients; the same server in two of them moves once."""

    def __init__(
        self,
        site: Site,
        vault: Vault,
        *,
        to_vault: bool = False,
        keep: Collection[str] = (),
        local: bool = False,
        with_profiles: bool = False,
    ) -> None:
        self._site = site
        self._vault = vault
        self._to_vault = to_vault
        self._keep = keep
        self._local = local
        self._with_profiles = with_profiles
        self._own = site.own_file()
        self._journal = site.journal_file()
        self._taken = {name: _bare(with_secrets(spec, vault)) for name, spec in self._own.servers.items()}
        self._moved: dict[str, Move] = {}

    def plan(self, files: Sequence[ClientFile], *, with_servers: bool = True) -> Plan:
        """The whole plan for these files."""
        judge = Judge(self._site, self._own, self._keep, self._local, unclear_keys(files)) if with_servers else None
        found = [self._found(file, judge) for file in files]
        fresh = {move.name: move.entry for move in self._moved.values() if move.is_new}
        # The first thing a client of ours asks for is the file: without one, `sources: auto` holds anyway.
        own_after = self._own.with_servers(fresh) if fresh else self._own.content
        named, profiles = self._profiles(found)
        own_after = OwnFile(self._own.path, own_after).with_profiles(profiles) if profiles else own_after
        # Whichever client starts us, we stand in front of all of these.
        behind = [*OwnFile(self._own.path, own_after).servers.values()]
        behind += [one.spec for each in found for one in each.listed if one.spec]
        variables = needed_variables(behind)
        served = {each.file.client.name for each in found if each.ours}
        clients = []
        for each in found:
            # One entry for us is enough, in the first of a client's files.
            is_connected = each.file.client.name in served
            served.add(each.file.client.name)
            profile = named.get(each.file.client.name, "") if each.ours or not is_connected else ""
            clients.append(self._client(each, variables, profile, is_connected=is_connected))
        return Plan(self._own, own_after, tuple(clients), self._journal, profiles=profiles)

    def _profiles(self, found: Sequence[_Found]) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
        """The name of each client's profile, where it gets one, and what the profiles say.

        A client that has our entry already keeps it as it is; if we made a profile for it, that grows with its servers.
        """
        connected = {each.file.client.name for each in found if each.ours}
        moves: dict[str, list[Move]] = {}
        for each in found:
            if each.moves:
                moves.setdefault(each.file.client.name, []).extend(each.moves)
        named: dict[str, str] = {}
        profiles: dict[str, dict[str, Any]] = {}
        for client, moved in moves.items():
            if client in connected:
                if name := self._profile_made_for(client):
                    named[client], profiles[name] = name, extended(self._own.profiles[name], moved)
            elif self._with_profiles:
                name = named[client] = free_profile(client, self._own.profiles)
                profiles[name] = profile_of(moved)
        return named, profiles

    def _profile_made_for(self, client: str) -> str:
        """The profile that we made for a client and that is still there; empty where there is none."""
        records = self._journal.journal().profiles.items()
        made = (name for name, record in records if client_of(record.client) == client)
        return next((name for name in made if isinstance(self._own.profiles.get(name), Mapping)), "")

    def _found(self, file: ClientFile, judge: Judge | None) -> _Found:
        """What of the file moves; without a judge nothing does."""
        listed = file.listed(self._site.address)
        others = [one for one in listed if not one.is_gateway]
        if judge is None:
            return _Found(file, listed, (), tuple(others))
        judged = [judge.judged(one, file.client) for one in others]
        moves = tuple([self._move(one, file.client) for one in judged if one.spec])
        return _Found(file, listed, moves, tuple(one for one in judged if not one.spec))

    def _client(self, found: _Found, variables: tuple[str, ...], profile: str, *, is_connected: bool) -> ClientPlan:
        file, client, ours = found.file, found.file.client, found.ours
        key = "" if is_connected else free_key(found.keys)
        names = client.environment.handed_on(variables, self._site.machine.env)
        entry = client.entry(self._site.launch_with(profile), names)
        changes = [*self._entry_changes(found, key, entry), *_removals(found.moves)]
        is_by_hand = client.has_program and not self._site.program(client)
        after = file.edited(changes) if changes and not is_by_hand else file.content
        return ClientPlan(
            file,
            found.moves,
            found.stays,
            key,
            entry,
            after,
            by_hand=tuple(_by_hand(file, key, entry, found.moves)) if is_by_hand else (),
            hands_on=names if ours or key else (),
            lacking=tuple(_lacking(found.moves, client)),
            profile=profile,
        )

    def _entry_changes(self, found: _Found, key: str, entry: Entry) -> list[Change]:
        if key:
            return added(found.file, key, entry, len(found.listed))
        if found.ours and self._is_written_by_us(found.ours, found.file):
            names_key = found.file.client.environment.names_key
            return refreshed(found.ours.place, found.ours.raw, entry, names_key=names_key)
        return []

    def _is_written_by_us(self, ours: Listed, file: ClientFile) -> bool:
        journal = self._journal.journal()
        record = journal.clients.get(journal.key_of(file.client.name, file.path))
        return record is not None and record.entry == ours.key

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


def _by_hand(file: ClientFile, key: str, entry: Entry, moves: Iterable[Move]) -> Iterator[tuple[str, ...]]:
    if key:
        yield words((*file.container, key), entry)
    yield from (words(move.listed.place, None) for move in moves)


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

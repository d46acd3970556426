"""What adopting would do, worked out completely before anything is written."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from typing import Any

from toolcrib.adoption.client_file import ClientFile, Listed
from toolcrib.adoption.clients import Client, Entry
from toolcrib.adoption.own_file import OwnFile
from toolcrib.adoption.secrets import Vault, hidden_values, moved_to_vault, named_secrets, with_secrets
from toolcrib.adoption.site import Site
from toolcrib.config.names import shorten, slug
from toolcrib.config.written_entry import entry_of
from toolcrib.edit.changes import Change, Drop, EditRefused, Place, Put
from toolcrib.edit.document import edited
from toolcrib.masking.texts import mask_text
from toolcrib.model.server import BUILT_IN_SERVER, Origin, RemoteLaunch, ServerSpec

_KEPT = "you asked to keep it there"
_NOT_WRITTEN = "the file is not written"


@dataclass(frozen=True, slots=True)
class Move:
    """One entry of a client that goes behind the counter under `name`; `is_new` when our file does not have it yet."""

    listed: Listed
    name: str
    is_new: bool
    entry: Entry = field(repr=False)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ClientPlan:
    """What would happen to one client's file; `entry_key` is empty where our entry is there already."""

    file: ClientFile
    moves: tuple[Move, ...]
    stays: tuple[Listed, ...]
    entry_key: str
    entry: Entry
    after: bytes = field(repr=False)
    by_hand: list[str]

    @property
    def client(self) -> Client:
        return self.file.client

    @property
    def changes_something(self) -> bool:
        return self.after != self.file.content

    def diff(self) -> list[str]:
        """The changed lines, without any value that may be a secret."""
        before, after = (self._shown(content).splitlines() for content in (self.file.content or b"", self.after))
        name = str(self.file.path)
        return [mask_text(line) for line in unified_diff(before, after, name, name, lineterm="", n=0)]

    def _shown(self, content: bytes) -> str:
        file = ClientFile(self.client, self.file.path, content)
        theirs = [(place, raw) for key, place, raw in file.entries() if key != self.entry_key]
        hidden = [Put(place, text) for entry, raw in theirs for place, text in hidden_values(raw, entry)]
        try:
            return edited(content, self.client.language, hidden).decode(errors="replace")
        except EditRefused:
            return ""


@dataclass(frozen=True)
class Plan:
    """Everything: the clients that are written to, those that are not and why, and our own file afterwards."""

    own: OwnFile
    own_after: bytes = field(repr=False)
    clients: tuple[ClientPlan, ...]
    skipped: tuple[tuple[Client, str], ...] = ()

    @property
    def moves(self) -> list[tuple[ClientPlan, Move]]:
        return [(client, move) for client in self.clients for move in client.moves]

    @property
    def secrets(self) -> dict[str, str]:
        return {name: value for _, move in self.moves for name, value in move.secrets.items()}


class Planner:
    """Collects the moves of several clients; the same server in two of them moves once."""

    def __init__(self, site: Site, vault: Vault, *, to_vault: bool = False, keep: Collection[str] = ()) -> None:
        self._site = site
        self._vault = vault
        self._to_vault = to_vault
        self._keep = keep
        self._own = site.own_file()
        self._taken = {name: _bare(with_secrets(spec, vault)) for name, spec in self._own.servers.items()}
        self._moved: dict[str, Move] = {}

    def plan(self, files: Iterable[ClientFile], *, with_servers: bool = True) -> Plan:
        """The whole plan for these files."""
        clients = tuple([self._client(file, with_servers) for file in files])
        fresh = {move.name: move.entry for move in self._moved.values() if move.is_new}
        # The first thing a client of ours asks for is the file: without one, `sources: auto` holds anyway.
        own_after = self._own.with_servers(fresh) if fresh else self._own.content or b""
        return Plan(self._own, own_after, clients)

    def _client(self, file: ClientFile, with_servers: bool) -> ClientPlan:
        listed = file.listed(self._site.address)
        kept = [self._judged(one, file.client) for one in listed if not one.is_gateway]
        movable = [one for one in kept if one.spec] if with_servers else []
        moves = tuple([self._move(one, file.client) for one in movable])
        stays = tuple(one for one in kept if one not in movable)
        ours = next((one for one in listed if one.is_gateway), None)
        key = "" if ours else _free_key(one.key for one in listed)
        entry = file.client.shape(self._site.launch)
        by_hand = file.client.by_hand(self._site.launch)
        changes = [] if by_hand else [*_addition(file, key, entry, len(listed)), *_removals(moves)]
        after = file.edited(changes) if changes else file.content or b""
        return ClientPlan(file, moves, stays, key, entry, after, [] if ours else by_hand)

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


def notes(move: Move) -> str:
    """What a person should know about a move; mostly nothing."""
    launch = move.listed.spec.launch if move.listed.spec else None
    if isinstance(launch, RemoteLaunch) and not launch.headers:
        return "it is reached without credentials; if its client signs in for it, keep it there with --keep"
    return ""


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


def _free_key(taken: Iterable[str]) -> str:
    used = set(taken)
    names = itertools.chain([BUILT_IN_SERVER], (f"{BUILT_IN_SERVER}-{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in used)


def _addition(file: ClientFile, key: str, entry: Entry, count: int) -> list[Change]:
    if not key:
        return []
    named: dict[str, Any] = {**entry, "name": key} if "name" in entry else entry
    place: Place = (*file.container, count if file.client.is_list else key)
    allowed = file.allowed()
    return [Put(place, named), *([Put((*file.client.allowed, len(allowed)), key)] if allowed is not None else [])]


def _removals(moves: Iterable[Move]) -> list[Change]:
    # From the end, so that the numbers of list items before stay true.
    return [Drop(move.listed.place) for move in reversed(list(moves))]

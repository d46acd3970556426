"""What adopting would do, worked out completely before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

from toolcrib.adoption.client_file import ClientFile, Listed
from toolcrib.adoption.journal import JournalFile
from toolcrib.adoption.own_file import OwnFile
from toolcrib.adoption.secrets import hidden_values
from toolcrib.clients.client import Client
from toolcrib.clients.own_entry import Entry
from toolcrib.edit.changes import EditRefused, Put
from toolcrib.edit.document import edited
from toolcrib.masking.texts import mask_text
from toolcrib.model.server import RemoteLaunch

_KEPT = "you asked to keep it there"
_NOT_WRITTEN = "the file is not written"


@dataclass(frozen=True, slots=True)
class Move:
    """One entry of a client that moves into Toolcrib under `name`; `is_new` when our file does not have it yet."""

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
    after: bytes | None = field(repr=False)
    # What a person has to type, where the client's own program would have to and is not there.
    by_hand: tuple[tuple[str, ...], ...] = ()
    # Variables that our entry makes the client hand on to us.
    hands_on: tuple[str, ...] = ()
    # Servers that move, with the variables they need and this client can't hand on.
    lacking: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # The profile that our entry names; empty where it names none.
    profile: str = ""

    @property
    def client(self) -> Client:
        return self.file.client

    @property
    def changes_something(self) -> bool:
        return self.after != self.file.content

    @property
    def says_something(self) -> bool:
        return bool(self.moves or self.stays or self.by_hand or self.changes_something)

    def diff(self) -> list[str]:
        """The changed lines, without any value that may be a secret."""
        before, after = (self._shown(content).splitlines() for content in (self.file.content or b"", self.after or b""))
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
    own_after: bytes | None = field(repr=False)
    clients: tuple[ClientPlan, ...]
    # What was adopted when this was planned.
    journal: JournalFile
    skipped: tuple[tuple[Client, str], ...] = ()
    # Profiles that our file gets, by name.
    profiles: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def changes_something(self) -> bool:
        return self.own_after != self.own.content or any(client.changes_something for client in self.clients)

    @property
    def moves(self) -> list[tuple[ClientPlan, Move]]:
        return [(client, move) for client in self.clients for move in client.moves]

    @property
    def bridged(self) -> list[str]:
        """The servers that come to us from behind `mcp-remote`, by the names they get."""
        return list(dict.fromkeys(move.name for _, move in self.moves if move.is_new and move.listed.is_bridged))

    @property
    def secrets(self) -> dict[str, str]:
        return {name: value for _, move in self.moves for name, value in move.secrets.items()}


def notes(move: Move) -> str:
    """What a person should know about a move; mostly nothing."""
    if move.listed.is_bridged:
        return "it is reached directly instead of through mcp-remote, and its sign-in comes along if it can be read"
    launch = move.listed.spec.launch if move.listed.spec else None
    if isinstance(launch, RemoteLaunch) and not launch.headers:
        return (
            "it is reached without credentials; if its client signs in for it, "
            f"run `toolcrib login {move.name}` afterwards, or keep it there with --keep"
        )
    return ""

"""The clients we can write to: where the servers stand in each one's file, and how our own entry is spelled there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.adoption.environment import NOTHING, Environment
from toolcrib.adoption.own_launch import OwnLaunch
from toolcrib.clients.machine import Machine
from toolcrib.config.source_types import SOURCE_TYPES, SourceType
from toolcrib.edit.changes import Place
from toolcrib.edit.document import Format
from toolcrib.model.server import BUILT_IN_SERVER

Entry = dict[str, Any]
Shape = Callable[[OwnLaunch], Entry]


def _plain(launch: OwnLaunch) -> Entry:
    entry: Entry = {"command": launch.command, "args": list(launch.args)}
    return {**entry, "env": dict(launch.env)} if launch.env else entry


def _typed(launch: OwnLaunch) -> Entry:
    return {"type": "stdio", **_plain(launch)}


def _claude_code(launch: OwnLaunch) -> Entry:
    # Else the model sees only the names of our tools, and has to look for them first.
    return {**_typed(launch), "alwaysLoad": True}


def _copilot_cli(launch: OwnLaunch) -> Entry:
    # As for Claude Code.
    return {"type": "local", **_plain(launch), "tools": ["*"], "deferTools": "never"}


def _codex(launch: OwnLaunch) -> Entry:
    # The names before `env`, which becomes a table of its own.
    more = {"env_vars": list(launch.names), "env": dict(launch.env)}
    return {
        "command": launch.command,
        "args": list(launch.args),
        **{key: value for key, value in more.items() if value},
    }


def _named(launch: OwnLaunch) -> Entry:
    return {"name": BUILT_IN_SERVER, **_plain(launch)}


def _goose(launch: OwnLaunch) -> Entry:
    return {
        "type": "stdio",
        "name": BUILT_IN_SERVER,
        "cmd": launch.command,
        "args": list(launch.args),
        "envs": dict(launch.env),
        "enabled": True,
        "timeout": 300,
    }


def _opencode(launch: OwnLaunch) -> Entry:
    entry: Entry = {"type": "local", "command": [launch.command, *launch.args], "enabled": True}
    return {**entry, "environment": dict(launch.env)} if launch.env else entry


@dataclass(frozen=True, slots=True)
class Client:
    """One client; `name` is its type of source."""

    name: str
    title: str
    # The first that is there; where none is, the first of all is made.
    containers: tuple[Place, ...] = (("mcpServers",), ("servers",))
    language: Format = "json"
    shape: Shape = _plain
    is_list: bool = False
    # Whether its own program has to write its file.
    has_program: bool = False
    # Whether it reads all of its files together, and not only the first.
    merges_files: bool = False
    # A list of the only servers the client starts, where a file has one.
    allowed: Place = ()
    environment: Environment = NOTHING

    @property
    def source_type(self) -> SourceType:
        return SOURCE_TYPES[self.name]

    def file(self, machine: Machine) -> Path:
        """The file of this client: the first of its places that exists, else the first."""
        places = self.source_type.places(machine)
        return next((place for place in places if place.exists()), places[0])

    def files(self, machine: Machine) -> tuple[Path, ...]:
        """That file, and the others that the client reads together with it."""
        more = self.source_type.more(machine) if self.merges_files else ()
        return (self.file(machine), *(place for place in more if place.exists()))

    def entry(self, launch: OwnLaunch, names: tuple[str, ...] = ()) -> Entry:
        """Our entry as this client writes it, so that these variables are handed on to us."""
        return self.shape(self.environment.given_to(launch, names))


_WHOLE = Environment(is_whole=True)
_EDITOR = Environment(reference="${env:NAME}")
_GEMINI = Environment(reference="$NAME")
_CODEX = Environment(by_name=True)
# The one it signs in with.
_COPILOT_CLI = Environment(is_whole=True, withheld=frozenset(("GITHUB_TOKEN",)))

_TABLE = (
    Client("claude-desktop", "Claude Desktop"),
    # It keeps its whole state in that file and writes it all the time: what we wrote would be lost, or its own.
    Client("claude-code", "Claude Code", (("mcpServers",),), shape=_claude_code, has_program=True, environment=_WHOLE),
    Client("cursor", "Cursor", environment=_EDITOR),
    Client("vscode", "VS Code", containers=(("servers",), ("mcpServers",)), shape=_typed, environment=_EDITOR),
    Client("windsurf", "Windsurf", environment=_EDITOR),
    Client("cline", "Cline"),
    Client("roo", "Roo Code", environment=_EDITOR),
    Client("zed", "Zed", containers=(("context_servers",),), environment=_WHOLE),
    Client("continue", "Continue", containers=(("mcpServers",),), language="yaml", shape=_named, is_list=True),
    Client("goose", "Goose", containers=(("extensions",),), language="yaml", shape=_goose, environment=_WHOLE),
    Client("codex", "Codex", containers=(("mcp_servers",),), language="toml", environment=_CODEX, shape=_codex),
    Client("gemini", "Gemini CLI", containers=(("mcpServers",),), allowed=("mcp", "allowed"), environment=_GEMINI),
    Client("qwen", "Qwen Code", containers=(("mcpServers",),), allowed=("mcp", "allowed"), environment=_WHOLE),
    Client("antigravity", "Antigravity"),
    Client("junie", "Junie"),
    Client("jetbrains", "JetBrains AI Assistant"),
    Client(
        "copilot-jetbrains",
        "GitHub Copilot in JetBrains",
        (("servers",), ("mcpServers",)),
        shape=_typed,
        environment=_EDITOR,
    ),
    Client("copilot-cli", "GitHub Copilot CLI", shape=_copilot_cli, environment=_COPILOT_CLI),
    Client("lm-studio", "LM Studio", environment=_EDITOR),
    Client("opencode", "OpenCode", (("mcp",),), shape=_opencode, merges_files=True, environment=_WHOLE),
    Client("kiro", "Kiro", environment=Environment(reference="${NAME}")),
    Client("warp", "Warp", containers=(("mcpServers",), ("servers",))),
    Client("amazon-q", "Amazon Q", environment=_EDITOR),
    Client("crush", "Crush", containers=(("mcp",),), shape=_typed, environment=_WHOLE),
)
CLIENTS: Mapping[str, Client] = {client.name: client for client in _TABLE}

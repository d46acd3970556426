"""Codex: TOML under `mcp_servers`; variables are named, never written into texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from toolcrib.clients import own_entry
from toolcrib.clients.client import Client
from toolcrib.clients.dialects import Ours, literal, reference
from toolcrib.clients.display import ClientDisplay
from toolcrib.clients.machine import Machine, Places
from toolcrib.clients.sections import Entry, Manner, OpenedFile, Section, each_entry, list_of, map_of

_KEY = "mcp_servers"
_NAMES = "env_vars"
_MANNER = Manner(
    literal,
    keys={
        _NAMES: "passEnv",
        "http_headers": "headers",
        "tool_timeout_sec": "timeout",
        "startup_timeout_sec": "startupTimeout",
        "enabled_tools": "allowTools",
        "disabled_tools": "denyTools",
    },
    unsupported={"http_headers_helper": "names a program that makes the headers"},
)


def _places(machine: Machine) -> Places:
    return (machine.named_by("CODEX_HOME", machine.home / ".codex") / "config.toml",)


def _sections(file: OpenedFile) -> Iterator[Section]:
    """A server with a token in plain text is refused, as Codex does."""
    entries = file.document.get(_KEY)
    if isinstance(entries, Mapping):
        refused = [name for name, entry in entries.items() if "bearer_token" in map_of(entry)]
        for name in refused:
            message = "expected bearer_token_env_var, found bearer_token, which Codex does not accept either"
            file.skip(f"{_KEY}.{name}.bearer_token", message)
        entries = {name: entry for name, entry in entries.items() if name not in refused}
    yield Section(_KEY, each_entry(entries, _in_our_words), _MANNER)


def _in_our_words(entry: Entry) -> Entry:
    ours = {**entry}
    if _NAMES in entry:
        ours[_NAMES] = [map_of(item).get("name", item) for item in list_of(entry[_NAMES])]
    if "startup_timeout_sec" not in entry and isinstance(milliseconds := entry.get("startup_timeout_ms"), int | float):
        ours["startup_timeout_sec"] = milliseconds / 1000
    headers = {name: reference(str(variable)) for name, variable in map_of(entry.get("env_http_headers")).items()}
    if token := entry.get("bearer_token_env_var"):
        headers["Authorization"] = Ours(f"Bearer ${{{token}}}")
    if headers and isinstance(entry.get("http_headers", {}), Mapping):
        ours["http_headers"] = {**entry.get("http_headers", {}), **headers}
    return ours


def _entry(launch: own_entry.OwnLaunch) -> own_entry.Entry:
    # The names before `env`, which becomes a table of its own.
    more = {_NAMES: list(launch.names), "env": dict(launch.env)}
    return {
        "command": launch.command,
        "args": list(launch.args),
        **{key: value for key, value in more.items() if value},
    }


CODEX = Client(
    "codex",
    "Codex",
    places=_places,
    sections=_sections,
    containers=((_KEY,),),
    language="toml",
    shape=_entry,
    environment=own_entry.Environment(names_key=_NAMES),
    calls_itself="codex",
    # Ten KiB or 256 lines of the content as JSON: what is above is cut out of the middle.
    display=ClientDisplay("structured", max_bytes=10_000, max_lines=250, is_quoted=True),
)

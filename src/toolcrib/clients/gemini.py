"""Gemini CLI: `httpUrl` is the new transport and `url` the old one; servers are switched off by name under `mcp`.

Qwen Code is a descendant that kept its file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from toolcrib.clients.client import Client
from toolcrib.clients.dialects import BARE_OR_BRACES
from toolcrib.clients.display import ClientDisplay
from toolcrib.clients.machine import Machine, Places
from toolcrib.clients.own_entry import WHOLE, Environment
from toolcrib.clients.sections import Entry, Manner, OpenedFile, Section, map_of, texts_of

_KEY = "mcpServers"
_ALLOWED = ("mcp", "allowed")
_MANNER = Manner(
    BARE_OR_BRACES,
    keys={"includeTools": "allowTools", "excludeTools": "denyTools"},
    url_means="sse",
    milliseconds=True,
)


def _sections(file: OpenedFile) -> Iterator[Section]:
    """The servers of such a file, those that are excluded or not allowed switched off."""
    entries = file.document.get(_KEY)
    if isinstance(entries, Mapping):
        is_on = _switch(file.document)
        entries = {
            name: {**_with_one_address(entry), "enabled": is_on(name)} if isinstance(entry, Mapping) else entry
            for name, entry in entries.items()
        }
    yield Section(_KEY, entries, _MANNER)


def _switch(document: Entry) -> Callable[[str], bool]:
    chosen = map_of(document.get("mcp"))
    allowed = chosen.get("allowed", document.get("allowMCPServers"))
    excluded = texts_of(chosen.get("excluded", document.get("excludeMCPServers")))
    return lambda name: name not in excluded and (not isinstance(allowed, list) or name in allowed)


def _with_one_address(entry: Entry) -> Entry:
    """`httpUrl` counts before `url`, and `url` before `command`."""
    ours = {**entry}
    if entry.get("httpUrl"):
        ours |= {"url": entry["httpUrl"], "type": "http"}
    if ours.get("url"):
        ours.pop("command", None)
    for key in ("includeTools", "excludeTools"):
        if isinstance(names := entry.get(key), list):
            # A name may be followed by a pattern for its arguments.
            ours[key] = [name.partition("(")[0] if isinstance(name, str) else name for name in names]
    return ours


def _places_of_gemini(machine: Machine) -> Places:
    return (machine.named_by("GEMINI_CLI_HOME", machine.home) / ".gemini" / "settings.json",)


GEMINI = Client(
    "gemini",
    "Gemini CLI",
    places=_places_of_gemini,
    sections=_sections,
    containers=((_KEY,),),
    allowed=_ALLOWED,
    environment=Environment(reference="$NAME"),
    calls_itself="gemini-cli",
    # What is above goes to a file, of which the model is told.
    display=ClientDisplay("content", max_bytes=39_000),
)


def _places_of_qwen(machine: Machine) -> Places:
    return (machine.named_by("QWEN_HOME", machine.home / ".qwen") / "settings.json",)


QWEN = Client(
    "qwen",
    "Qwen Code",
    places=_places_of_qwen,
    sections=_sections,
    containers=((_KEY,),),
    allowed=_ALLOWED,
    environment=WHOLE,
    calls_itself="qwen",
    display=ClientDisplay("content", max_bytes=24_000, max_lines=990),
)

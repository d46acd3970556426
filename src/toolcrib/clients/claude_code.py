"""Claude Code: `mcpServers` of the user; those of `projects` belong to a folder and are only reported."""

from __future__ import annotations

from collections.abc import Iterator

from toolcrib.clients.client import Client
from toolcrib.clients.dialects import BRACES
from toolcrib.clients.display import ClientDisplay
from toolcrib.clients.machine import Machine, Places
from toolcrib.clients.own_entry import WHOLE, Entry, OwnLaunch, typed
from toolcrib.clients.sections import Manner, OpenedFile, Section, map_of, servers_section

SERVERS = "mcpServers"
FOLDERS = "projects"
_MANNER = Manner(BRACES, milliseconds=True, unsupported={"headersHelper": "names a program that makes the headers"})
_SHOWN_NAMES = 5


def _places(machine: Machine) -> Places:
    return (machine.named_by("CLAUDE_CONFIG_DIR", machine.home) / ".claude.json",)


def _sections(file: OpenedFile) -> Iterator[Section]:
    _report_folders(file)
    where, entries = servers_section(file.document)
    yield Section(where, entries, _MANNER)


def _report_folders(file: OpenedFile) -> None:
    names = [
        f"{name} of {folder}"
        for folder, project in map_of(file.document.get(FOLDERS)).items()
        for name in map_of(map_of(project).get(SERVERS))
    ]
    if names:
        more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
        shown = ", ".join(names[:_SHOWN_NAMES]) + more
        file.warn(FOLDERS, f"servers of a project are not imported: {shown}")


def _entry(launch: OwnLaunch) -> Entry:
    # Else the model sees only the names of our tools, and has to look for them first.
    return {**typed(launch), "alwaysLoad": True}


CLAUDE_CODE = Client(
    "claude-code",
    "Claude Code",
    places=_places,
    # It keeps its whole state in that file and writes it all the time: what we wrote would be lost, or its own.
    has_program=True,
    # The history of all conversations is in there too.
    max_bytes=64 * 1024 * 1024,
    sections=_sections,
    containers=((SERVERS,),),
    shape=_entry,
    environment=WHOLE,
    calls_itself="claude-code",
    # A result above 25,000 tokens is refused or put into a file; dense JSON has two and a half characters to a token.
    display=ClientDisplay("structured", max_bytes=48 * 1024),
)

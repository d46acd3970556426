"""Continue: a list of servers in YAML; in its older JSON file `experimental.modelContextProtocolServers`."""

from __future__ import annotations

from collections.abc import Iterator

from toolcrib.clients.client import Client
from toolcrib.clients.dialects import DOUBLE_BRACES
from toolcrib.clients.machine import Machine, Places
from toolcrib.clients.own_entry import named
from toolcrib.clients.sections import LEFT_OUT, Entry, Manner, OpenedFile, Section, each_entry, list_of, map_of

_KEY = "mcpServers"
_OLD_PLACE = "experimental.modelContextProtocolServers"
_MANNER = Manner(DOUBLE_BRACES, keys={"connectionTimeout": "startupTimeout"}, milliseconds=True)


def _places(machine: Machine) -> Places:
    folder = machine.named_by("CONTINUE_GLOBAL_DIR", machine.home / ".continue")
    return (folder / "config.yaml", folder / "config.json")


def _sections(file: OpenedFile) -> Iterator[Section]:
    """Both forms; a server that is fetched from Continue's hub by name cannot be read from the file."""
    entries = file.document.get(_KEY)
    if isinstance(entries, list):
        fetched = [str(item["uses"]) for item in entries if map_of(item).get("uses")]
        if fetched:
            file.warn(_KEY, f"servers of Continue's hub are not imported: {', '.join(fetched)}")
        entries = [LEFT_OUT if map_of(item).get("uses") else item for item in entries]
    yield Section(_KEY, each_entry(entries, _with_headers), _MANNER)
    old = list_of(map_of(file.document.get("experimental")).get("modelContextProtocolServers"))
    yield Section(_OLD_PLACE, [_old_entry(map_of(item), number) for number, item in enumerate(old, 1)], _MANNER)


def _with_headers(entry: Entry) -> Entry:
    headers = {**map_of(map_of(entry.get("requestOptions")).get("headers"))}
    if isinstance(key := entry.get("apiKey"), str):
        headers.setdefault("Authorization", f"Bearer {key}")
    return {**entry, "headers": headers} if headers else entry


def _old_entry(item: Entry, number: int) -> Entry:
    # The older form has no names.
    return {"name": f"continue-{number}", **map_of(item.get("transport"))}


CONTINUE = Client(
    "continue",
    "Continue",
    places=_places,
    sections=_sections,
    containers=((_KEY,),),
    language="yaml",
    is_list=True,
    shape=named,
)

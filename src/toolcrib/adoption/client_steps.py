"""What has to be done for a client's file to become what was planned: written by us, or by the client's own program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolcrib.adoption.claude_code import ClaudeEntry
from toolcrib.adoption.client_file import ClientFile
from toolcrib.adoption.site import Site
from toolcrib.adoption.steps import Step
from toolcrib.adoption.writes import FileWrite
from toolcrib.edit.changes import Place


def client_steps(site: Site, file: ClientFile, after: bytes | None) -> Sequence[Step]:
    """The steps from the file as it is to these bytes."""
    if not file.client.has_program:
        return [FileWrite(file.path, file.content, after)]
    program = site.program(file.client)
    before, wanted = (_entries(one) for one in (file, ClientFile(file.client, file.path, after)))
    places = [place for place in {**wanted, **before} if before.get(place) != wanted.get(place)]
    # What is put in comes first: whenever this stops, nothing is in neither place.
    ordered = sorted(places, key=lambda place: wanted.get(place) is None)
    return [
        ClaudeEntry(file.path, program, site.machine, place, before.get(place), wanted.get(place)) for place in ordered
    ]


def _entries(file: ClientFile) -> dict[Place, Any]:
    return {place: raw for _, place, raw in file.entries()}

"""Every record is whole: its client's files are read, and what we write there is what we would read."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.config.importers.golden_cases import FOLDER, Case
from toolcrib.clients.client import Client
from toolcrib.clients.machine import Machine
from toolcrib.clients.own_entry import OwnLaunch
from toolcrib.clients.table import CLIENTS
from toolcrib.config.diagnostics import Findings
from toolcrib.config.documents import parse_document
from toolcrib.config.source_types import SOURCE_TYPES
from toolcrib.edit.changes import Put
from toolcrib.edit.document import edited
from toolcrib.model.server import Origin, StdioLaunch

LAUNCH = OwnLaunch("/opt/tools/toolcrib", ("--config", "/h/c.yaml", "serve"), {"TOOLCRIB_HOME": "/h/t"})
each_client = pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.name)


def read(client: Client, content: bytes, file: Path) -> tuple[list[StdioLaunch], Findings]:
    """What the importer of a client makes of its file."""
    findings = Findings()
    specs = SOURCE_TYPES[client.name].read(parse_document(content, file), Origin(client.name, str(file)), findings)
    launches = [spec.launch for spec in specs if spec.enabled]
    assert all(isinstance(launch, StdioLaunch) for launch in launches)
    return [launch for launch in launches if isinstance(launch, StdioLaunch)], findings


@each_client
def test_the_entry_written_for_a_client_starts_what_was_meant(client: Client) -> None:
    file = client.places(Machine(Path("/h"), {}, "linux"))[0]
    container = client.containers[0]
    place = (*container, 0 if client.is_list else "toolcrib")
    content = edited(b"", client.language, [Put(place, client.entry(LAUNCH))])
    (launch,), findings = read(client, content, file)
    assert (launch.command, launch.args, launch.env) == (LAUNCH.command, LAUNCH.args, LAUNCH.env)
    assert (findings.fatal, findings.problems, findings.warnings) == ([], [], [])


@each_client
def test_variables_an_entry_asks_for_are_read_back_as_variables(client: Client) -> None:
    names = client.environment.handed_on(("TOKEN",), {})
    file = client.places(Machine(Path("/h"), {}, "linux"))[0]
    place = (*client.containers[0], 0 if client.is_list else "toolcrib")
    content = edited(b"", client.language, [Put(place, client.entry(LAUNCH, names))])
    (launch,), _ = read(client, content, file)
    asked = {name for name, value in launch.env.items() if value == "${TOKEN}"} | set(launch.pass_env)
    assert asked == set(names)


@each_client
def test_every_client_has_a_file_that_is_imported_with_servers_in_it(client: Client, tmp_path: Path) -> None:
    cases = [Case.read(file) for file in sorted(FOLDER.glob(f"{client.name}-*.txt"))]
    imported = [
        case.imported(tmp_path / str(number)) for number, case in enumerate(cases) if case.client == client.name
    ]
    assert any(one["servers"] for one in imported)


def test_no_name_of_a_client_is_taken_by_another() -> None:
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for client in CLIENTS.values():
        for text in (client.name, client.title):
            owners[re.sub(r"[^a-z0-9]", "", text.lower())].add(client.name)
    assert {name: clients for name, clients in owners.items() if len(clients) > 1} == {}
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in CLIENTS)


def test_no_client_is_taken_for_another_at_the_handshake() -> None:
    given = [client.calls_itself for client in CLIENTS.values() if client.calls_itself]
    assert [(a, b) for a, b in itertools.permutations(given, 2) if a.startswith(b)] == []
    assert given == [name.lower() for name in given]

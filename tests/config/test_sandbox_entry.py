"""The sandbox of an entry: read, written back, and refused where it makes no sense."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib.config.entries import EntryReader
from toolcrib.config.launching import ready_launch
from toolcrib.config.written_entry import entry_of
from toolcrib.model.sandbox import Sandbox
from toolcrib.model.server import Origin, ServerSpec, StdioLaunch


def read(sandbox: Any, **entry: Any) -> tuple[ServerSpec | None, EntryReader]:
    data = {"command": "server", **entry, "sandbox": sandbox}
    reader = EntryReader(data, "servers.s", Origin("toolcrib", "/etc/toolcrib/toolcrib.yaml"))
    return reader.spec("s"), reader


@pytest.mark.parametrize(
    ("stated", "meant"),
    [
        (None, None),
        (False, None),
        (True, Sandbox()),
        ({}, Sandbox()),
        ({"network": "none"}, Sandbox()),
        ({"network": "all"}, Sandbox(network="all")),
        ({"network": ["a.example", "b.example:8443"]}, Sandbox(hosts=("a.example", "b.example:8443"))),
        ({"read": ["/a"], "write": ["~/b", "c"]}, Sandbox(("/a",), ("~/b", "/etc/toolcrib/c"))),
    ],
)
def test_a_sandbox_is_read_and_written_back(stated: Any, meant: Sandbox | None) -> None:
    spec, reader = read(stated)
    assert reader.problems == []
    assert spec is not None
    assert isinstance(spec.launch, StdioLaunch)
    assert spec.launch.sandbox == meant

    again, _ = read(entry_of(spec).get("sandbox"))
    assert again is not None
    assert again.launch == spec.launch


@pytest.mark.parametrize(
    "stated",
    ["yes", 1, ["/a"], {"network": "some"}, {"network": ["https://a.example/"]}, {"write": "/a"}, {"read": [{}]}],
)
def test_what_is_no_sandbox_is_a_problem_and_never_no_sandbox(stated: Any) -> None:
    spec, reader = read(stated)
    assert spec is None
    assert reader.problems[0].where.startswith("servers.s.sandbox")


def test_an_unknown_key_is_noticed() -> None:
    _, reader = read({"writes": ["/a"]})
    assert reader.notes == ["sandbox.writes: unknown key; did you mean 'write'?"]


def test_a_server_with_an_address_has_no_sandbox() -> None:
    spec, reader = read(True, command=None, url="https://example.com/mcp")
    assert spec is None
    assert "only a server that Toolcrib starts" in reader.problems[0].message


def test_a_command_line_in_one_text_has_its_sandbox_too() -> None:
    spec, _ = read(True, command=None, connection="server --fast")
    assert spec is not None
    assert spec.launch == StdioLaunch("server", ("--fast",), sandbox=Sandbox())
    spec, reader = read(True, command=None, connection="https://example.com/mcp")
    assert spec is None
    assert "only a server that Toolcrib starts" in reader.problems[0].message


def test_an_entry_without_one_is_known_by_the_key_it_always_had() -> None:
    without, other = StdioLaunch("server"), StdioLaunch("server", sandbox=Sandbox())
    key = ServerSpec("s", without).launch_key
    assert key == "0a6b7fa446fdf2df9d075bed1e2224ef328624e322e600cd1c3b4546dc5385d4"
    assert ServerSpec("s", other).launch_key != key


def test_paths_are_resolved_like_everything_else_in_an_entry() -> None:
    spec, _ = read({"write": ["~/notes", "${DATA}/x"]})
    assert spec is not None
    launch = ready_launch(spec, {"HOME": "/home/ada", "DATA": "/data"}).launch
    assert isinstance(launch, StdioLaunch)
    assert launch.sandbox == Sandbox(write=("/home/ada/notes", "/data/x"))

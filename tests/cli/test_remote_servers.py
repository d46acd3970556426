"""Servers over Streamable HTTP and SSE, from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.cli.machine import Machine
from tests.journeys.http_upstream import everything_over_http
from tests.servers.launch import Launch


@pytest.fixture
def remote(everything_server: Launch, machine: Machine) -> Iterator[Machine]:
    """A machine whose two servers are reached over Streamable HTTP and over SSE."""
    with ExitStack() as stack:
        streamable = stack.enter_context(everything_over_http(everything_server, "streamableHttp"))
        sse = stack.enter_context(everything_over_http(everything_server, "sse"))
        machine.configure(json.dumps({"servers": {"streamable": streamable.streamable, "sse": sse.sse}}))
        yield machine


def test_http_and_sse_servers_are_listed_searched_inspected_and_run(remote: Machine) -> None:
    listed = remote.run("list", "--json").json["servers"]
    assert {server["name"]: server["toolCount"] > 0 for server in listed} == {"streamable": True, "sse": True}
    for server in ("streamable", "sse"):
        found = remote.run("search", "sum of two numbers", "--server", server, "--json").json["results"]
        assert (found[0]["server"], found[0]["tool"]) == (server, "get-sum")
        assert remote.run("inspect", server, "get-sum", "--json").json["tool"] == "get-sum"
        ran = remote.run("execute", server, "get-sum", "--args", '{"a": 2, "b": 3}', "--json")
        assert ran.json == {"success": True, "result": "The sum of 2 and 3 is 5."}

"""A server whose list of tools is meant to hurt: the others answer as if it were not there."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from bench.hostile import second_server
from bench.process import peak_megabytes, resident_megabytes
from tests.catalogs import record_of
from tests.journeys.stdio_gateway import LineClient, Workshop
from toolcrib.catalog.store import ServerRecord
from toolcrib.storage.sqlite import SqliteCatalog

# What is promised; on an idle machine it is a tenth of a second.
LONGEST_CALL_SECONDS = 2.0
MOST_MEGABYTES = 100.0
MOST_LOG_BYTES = 4_000


def outcome(catalog: SqliteCatalog, server: str) -> ServerRecord | None:
    """What the catalog says of a server, once it was read or given up."""
    record = record_of(catalog, server)
    return record if record is not None and (record.read_at or record.error) else None


async def longest_call_until_read(client: LineClient, catalog: SqliteCatalog) -> tuple[float, ServerRecord]:
    """The longest of the calls to the healthy server while the hostile one is read, and what became of that."""
    longest, number = 0.0, 0
    while (record := outcome(catalog, "hostile")) is None:
        began, number = time.monotonic(), number + 1
        answered = await client.execute(number, "healthy", "echo", text="here")
        longest = max(longest, time.monotonic() - began)
        assert answered["content"][0]["text"] == "here"
    return longest, record


@pytest.mark.parametrize(
    ("kind", "transport", "error", "tools"),
    [
        ("worthless", "stdio", "the server sent a line longer than 4194304 bytes", 0),
        ("worthless", "http", "its list of tools holds more than 524288 values", 0),
        ("empty", "http", "its list of tools holds more than 524288 values", 0),
        ("many", "stdio", "the server sent a line longer than 4194304 bytes", 0),
        ("many", "http", "", 1_000),
        ("heavy", "stdio", "", 70),
        ("heavy", "http", "", 70),
    ],
)
async def test_a_hostile_list_of_tools_holds_up_no_call_to_another_server(
    workshop: Workshop, kind: str, transport: str, error: str, tools: int
) -> None:
    with second_server(kind, transport) as entry:
        workshop.configure({"healthy": workshop.scripted("healthy"), "hostile": entry})
        async with workshop.lines() as client:
            await client.initialize()
            before = resident_megabytes(client.process.pid)
            with closing(SqliteCatalog(workshop.home / "catalogue.db")) as catalog:
                longest, record = await longest_call_until_read(client, catalog)
            grown = peak_megabytes(client.process.pid) - before
            await client.leave()
    assert longest < LONGEST_CALL_SECONDS
    assert grown < MOST_MEGABYTES
    assert (record.error, record.tool_count) == (error, tools)
    assert len(workshop.complaints) < MOST_LOG_BYTES

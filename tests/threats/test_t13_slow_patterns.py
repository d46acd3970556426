"""T13: no pattern of anybody, and none of ours, takes so long that others have to wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.fakes import FakeServer, text, tool
from tests.gateways import read_counter
from tests.processor_time import within
from toolcrib.built_in.read_result import excerpt
from toolcrib.errors import InvalidArguments
from toolcrib.model.tool_rule import ToolRule
from toolcrib.scanner.scan import scan

# Tried in every way there is, this takes longer than anybody lives.
SLOW, SLOW_TEXT = "(a|aa)+$", "a" * 200 + "!"
SECONDS = 1.0
# What begins again and again like something that our own patterns look for.
TEXTS = ("ignore all previous ", "do not tell ", "a. ", "a1", "![a](http://x?", "%41", "\u0430", "send_email ")
CHARACTERS = 60_000


async def test_t13_no_pattern_of_a_rule_takes_a_second() -> None:
    with within(SECONDS):
        await read_under_slow_rule(1)


async def test_t13_a_slow_rule_is_given_up_however_many_names_there_are() -> None:
    with within(SECONDS):
        await read_under_slow_rule(200)


async def read_under_slow_rule(tools: int) -> None:
    offered = [tool(f"{'a' * 60}-{number}") for number in range(tools)]
    rule = ToolRule((f"/{SLOW}/",), enabled=False)
    async with read_counter(FakeServer("sums", offered, era="legacy"), tool_rules=(rule,)) as gateway:
        # What could not be tried is taken for a match.
        assert await gateway.list_tools("sums") == []


async def test_t13_no_pattern_of_a_schema_takes_a_second() -> None:
    await check_arguments({"type": "string", "pattern": SLOW}, SLOW_TEXT)


async def test_t13_no_schema_fans_out_for_a_second() -> None:
    # Each level asks three times for the one below it: many thousand checks in all.
    levels: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n - 1}"}] * 3} for n in range(1, 12)}
    await check_arguments({"$ref": "#/$defs/d11"}, "x", {"d0": {"type": "string"}, **levels})


async def check_arguments(note: Mapping[str, Any], given: str, defs: Mapping[str, Any] | None = None) -> None:
    """Call a tool whose parameter has this schema; a call with another one has loaded what checks it."""
    tools = [
        tool("load", inputSchema={"type": "object", "properties": {"note": {"pattern": "^(?=b)"}}}),
        tool("add", inputSchema={"type": "object", "properties": {"note": note}, "$defs": defs or {}}),
    ]
    server = FakeServer("sums", tools, era="legacy")
    async with read_counter(server) as gateway:
        await gateway.execute_tool("sums", "load", {"note": "a"})
        with within(SECONDS):
            assert (await gateway.execute_tool("sums", "add", {"note": given})).success


def test_t13_no_search_in_a_result_takes_a_second() -> None:
    with within(SECONDS), pytest.raises(InvalidArguments):
        excerpt(SLOW_TEXT, {"grep": SLOW})


@pytest.mark.parametrize("begins", TEXTS)
def test_t13_no_pattern_of_ours_takes_a_second(begins: str) -> None:
    words = (begins * CHARACTERS)[:CHARACTERS]
    with within(SECONDS):
        scan(tool("a" * 100 + "-", words))


async def test_t13_a_long_result_is_looked_through_only_so_far() -> None:
    server = FakeServer("pages", [tool("read")], tools={"read": lambda _: text("a. " * 200_000)})
    async with read_counter(server, scan_results=True) as gateway:
        with within(1.5 * SECONDS):
            assert (await gateway.execute_tool("pages", "read", {})).success

"""Tools whose definitions stay text until somebody looks into them."""

from __future__ import annotations

import sys

import msgspec
import pytest

from toolcrib.model.tool import Tool
from toolcrib.storage.json_text import stored_tools
from toolcrib.storage.json_tool import DECODED_DEFINITIONS, JsonTool, read_tool

DEFINITION = {"name": "read", "description": "Reads a file.", "inputSchema": {"type": "object"}}


def kept(server: str = "files") -> JsonTool:
    (row,) = stored_tools(server, [DEFINITION]).values()
    return read_tool(server, row.definition, row.fingerprint)


def test_a_kept_tool_is_the_tool_that_its_server_defined() -> None:
    tool = Tool.from_mcp("files", DEFINITION)
    assert kept() == tool
    assert tool == kept()
    assert (kept().description, kept().fingerprint) == (tool.description, tool.fingerprint)
    assert kept("others") != tool


def test_a_renamed_tool_keeps_its_definition_and_its_fingerprint() -> None:
    renamed = kept().renamed(server="mine", name="my_read")
    assert (renamed.id, renamed.definition, renamed.fingerprint) == ("mine:my_read", DEFINITION, kept().fingerprint)


def test_a_tool_that_is_used_again_and_again_keeps_its_schema_object() -> None:
    tool = kept()
    assert tool.input_schema is tool.input_schema


def test_only_the_definitions_looked_into_last_stay_decoded() -> None:
    tools = [kept() for _ in range(DECODED_DEFINITIONS + 1)]
    first = tools[0].definition
    references = sys.getrefcount(first)
    for tool in tools[1:]:
        assert tool.description
    assert sys.getrefcount(first) == references - 1


def test_text_that_is_no_definition_is_noticed_when_it_is_read() -> None:
    with pytest.raises(msgspec.DecodeError):
        read_tool("files", '{"name": "read", "inputSchema": {', "0")

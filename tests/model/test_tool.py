from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.model.tool import SUMMARY_CHARACTERS, Tool, split_id, summarize


@pytest.mark.parametrize(
    ("server", "tool", "meant"),
    [
        ("files", "read", ("files", "read")),
        ("files", "files:read", ("files", "read")),
        ("", "files:read", ("files", "read")),
        ("files", "files:read:all", ("files", "read:all")),
        ("web", "files:read", ("web", "files:read")),
        ("files", "files:", ("files", "files:")),
        ("files", ":read", ("files", ":read")),
        ("files", "", ("files", "")),
    ],
)
def test_a_tool_may_be_named_with_its_server(server: str, tool: str, meant: tuple[str, str]) -> None:
    assert split_id(server, tool) == meant


@pytest.mark.parametrize(
    ("description", "summary"),
    [
        ("Reads a file. Slowly.", "Reads a file."),
        ("Reads a file\nof any size", "Reads a file"),
        ("  Reads v1.2 files!  Really. ", "Reads v1.2 files!"),
        ("", ""),
    ],
)
def test_a_summary_is_the_first_sentence_or_line(description: str, summary: str) -> None:
    assert summarize(description) == summary


@given(st.text())
def test_a_summary_is_short_and_one_line(description: str) -> None:
    assert len(summarize(description)) <= SUMMARY_CHARACTERS
    assert "\n" not in summarize(description)


def test_a_long_sentence_is_cut_at_a_word() -> None:
    assert summarize("word " * 100) == "word " * 22 + "word…"


def test_the_title_stands_in_for_a_missing_description() -> None:
    assert Tool.from_mcp("a", {"name": "b", "title": "Reads"}).summary == "Reads"
    assert Tool.from_mcp("a", {"name": "b", "annotations": {"title": "Writes"}}).summary == "Writes"


def test_odd_members_count_as_missing() -> None:
    tool = Tool.from_mcp("a", {"name": "b", "description": 5, "inputSchema": [], "annotations": "x", "outputSchema": 1})

    assert (tool.description, tool.input_schema, tool.output_schema, tool.annotations) == ("", {}, {}, {})


def test_a_fingerprint_is_of_the_whole_definition_whatever_the_order_of_its_keys() -> None:
    one = Tool.from_mcp("a", {"name": "b", "x": {"p": 1, "q": "\ud800"}})
    same = Tool.from_mcp("other", {"x": {"q": "\ud800", "p": 1}, "name": "b"})
    different = Tool.from_mcp("a", {"name": "b", "x": {"p": 2, "q": "\ud800"}})

    assert one.fingerprint == same.fingerprint != different.fingerprint

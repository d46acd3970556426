"""Our own labelled set, so that a clever change cannot quietly make search worse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from toolcrib.model.tool import Tool
from toolcrib.search.index import ToolIndex

LABELLED = yaml.safe_load(Path(__file__).with_name("labelled.yaml").read_text(encoding="utf-8"))


def _tool(server: str, name: str, description: str, *parameters: str) -> Tool:
    properties: dict[str, Any] = {parameter: {"type": "string"} for parameter in parameters}
    schema = {"type": "object", "properties": properties}
    return Tool.from_mcp(server, {"name": name, "description": description, "inputSchema": schema})


@pytest.fixture(scope="module")
def index() -> ToolIndex:
    return ToolIndex(
        _tool(server, name, *texts) for server, tools in LABELLED["servers"].items() for name, texts in tools.items()
    )


def _share_found(index: ToolIndex, within: int) -> float:
    queries = LABELLED["queries"]
    found = sum(
        any(match.tool.id == wanted for match in index.search(query, limit=within)) for query, wanted in queries.items()
    )
    return found / len(queries)


def test_the_right_tool_is_first_for_most_requests(index: ToolIndex) -> None:
    assert _share_found(index, within=1) >= 0.88


def test_the_right_tool_is_among_five_for_nearly_all_requests(index: ToolIndex) -> None:
    assert _share_found(index, within=5) >= 0.98


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("remove the event", "calendar:delete_event"),
        ("fetch the weather forecast", "weather:get_forecast"),
        ("erase relations", "memory:delete_relations"),
        ("edit an event", "calendar:update_event"),
    ],
)
def test_another_verb_of_the_same_meaning_finds_the_tool(index: ToolIndex, query: str, first: str) -> None:
    assert index.search(query)[0].tool.id == first


def test_a_brand_is_found_in_any_case(index: ToolIndex) -> None:
    assert index.search("GitHub pull requests") == index.search("github pull requests")


def test_a_request_that_nothing_fits_finds_nothing(index: ToolIndex) -> None:
    assert index.search("book a flight to Rome") == []


def test_the_better_a_tool_fits_the_higher_its_relevance(index: ToolIndex) -> None:
    good = index.search("take a screenshot of the current page")[0]
    poor = index.search("page of my favourite cooking magazine about sourdough")[0]
    assert good.relevance > 0.6
    assert poor.relevance < 0.4

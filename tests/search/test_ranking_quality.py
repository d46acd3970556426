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


@pytest.fixture(scope="module")
def places(index: ToolIndex) -> list[int]:
    """Where the right tool stands for each request, 0 being the first, 5 for one that is not among the first five."""
    found = [[match.tool.id for match in index.search(query, limit=5)] for query in LABELLED["queries"]]
    return [
        ids.index(wanted) if wanted in ids else 5
        for ids, wanted in zip(found, LABELLED["queries"].values(), strict=True)
    ]


def test_the_right_tool_is_first_for_most_requests(places: list[int]) -> None:
    assert sum(place == 0 for place in places) / len(places) >= 0.95


def test_the_right_tool_is_among_five_for_nearly_all_requests(places: list[int]) -> None:
    assert sum(place < 5 for place in places) / len(places) >= 0.98


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


def test_a_request_that_nothing_fits_is_told_by_its_low_relevance(index: ToolIndex) -> None:
    unfit = [index.search(query)[0].relevance for query in ("book a flight to Rome", "knit me a warm sweater")]
    fit = [index.search(query)[0].relevance for query in ("merge a pull request", "add an event to my calendar")]
    assert max(unfit) < 0.3 < min(fit)


def test_the_better_a_tool_fits_the_higher_its_relevance(index: ToolIndex) -> None:
    good = index.search("take a screenshot of the current page")[0]
    poor = index.search("page of my favourite cooking magazine about sourdough")[0]
    assert good.relevance > 0.6
    assert poor.relevance < 0.4

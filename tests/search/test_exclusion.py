"""What a request says it does not want."""

from __future__ import annotations

import pytest

from tests.search.test_index import ids
from toolcrib.model.tool import Tool
from toolcrib.search.exclusion import unwanted_servers
from toolcrib.search.index import ToolIndex

SERVERS = ["firecrawl", "Slack", "Google Maps", "google-calendar", "brave-search", "files", "x"]
EVERYDAY = {"slack", "google", "maps", "brave", "search", "files"}


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("search the web but not with Firecrawl", {"firecrawl"}),
        ("search the web without firecrawl", {"firecrawl"}),
        ("post in chat, not Slack", {"Slack"}),
        ("a route, anything but Google please", {"Google Maps", "google-calendar"}),
        ("send it instead of using Brave", {"brave-search"}),
        ("search the web but not with brave-search", {"brave-search"}),
        ("plan a route without google-maps.", {"Google Maps"}),
        ("post a message, not on X", {"x"}),
    ],
)
def test_a_server_after_a_not_is_unwanted(text: str, servers: set[str]) -> None:
    assert unwanted_servers(text, SERVERS, EVERYDAY.__contains__) == servers


@pytest.mark.parametrize(
    "text",
    [
        "",
        "search with Firecrawl",
        "a folder without files",
        "why is it not found in the search",
        "not",
        "Slack is not here",
        "an issue on Slack, if it is not on Slack",
        "users without Slack account",
        "DO NOT SLACK",
    ],
)
def test_everyday_words_after_a_not_and_servers_before_it_are_no_such_thing(text: str) -> None:
    assert unwanted_servers(text, SERVERS, EVERYDAY.__contains__) == set()


def test_tools_of_an_unwanted_server_are_not_found_unless_it_is_asked_for() -> None:
    search = {"description": "Search the web for pages"}
    index = ToolIndex([Tool.from_mcp(server, {"name": "web_search", **search}) for server in ("firecrawl", "brave")])
    query = "web search but not with Firecrawl"
    assert ids(index.search(query)) == ["brave:web_search"]
    assert ids(index.search(query, server="firecrawl")) == ["firecrawl:web_search"]

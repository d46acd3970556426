from __future__ import annotations

from dataclasses import replace

from tests.fakes import spec
from tests.server.everyday_tools import SERVERS
from tests.showroom import Showroom, reading

WORDS = ("issue", "repository", "file", "folder", "event", "calendar", "table", "message", "branch", "comment")
QUERIES = {
    "open a bug report in the repository": "github:create_issue",
    "read a text file": "filesystem:read_file",
    "when are all of us free": "calendar:find_free_time",
    "rename a folder": "filesystem:move_file",
    "merge my branch": "github:merge_pull_request",
    "list the events of next week": "calendar:list_events",
}


def showroom(resources: int) -> Showroom:
    """Five everyday servers; one of them also has so many resources, which are about the same things as the tools."""
    entries = [spec(name) for name in SERVERS]
    shop = Showroom(*entries)
    for entry in entries:
        items = (
            {
                "uri": f"file:///notes/{number}-{WORDS[number % 10]}-{WORDS[number // 10 % 10]}.md",
                "name": f"{WORDS[number % 10]} of the {WORDS[number // 10 % 10]}",
            }
            for number in range(resources if entry.name == "filesystem" else 0)
        )
        told = replace(reading(*SERVERS[entry.name]), items=tuple(("resource", item) for item in items))
        shop.store.save_reading(entry.name, entry.launch_key, told, shop.clock())
    shop.catalog.look()
    return shop


def test_search_of_tools_is_as_good_with_a_thousand_resources_beside() -> None:
    without, beside = showroom(0), showroom(1_000)

    for query, wanted in QUERIES.items():
        alone, together = without.search.search(query), beside.search.search(query, limit=100)
        likely = [(one.tool.id, relevance) for one, relevance in alone if relevance > 0]
        tools = [(one.tool.id, relevance) for one, relevance in together if one.tool.kind == "tool"]
        assert without.found(query)[0] == beside.found(query)[0] == wanted
        assert tools[: len(likely)] == likely[: len(tools)]


def test_a_resource_is_found_among_a_thousand() -> None:
    shop = showroom(1_000)

    assert "filesystem:resource:file:///notes/94-event-comment.md" in shop.found("notes of the event comment 94")

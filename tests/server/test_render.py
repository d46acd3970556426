from __future__ import annotations

import json

import pytest

from toolcrib.model.call import ExecutionError
from toolcrib.model.status import CONNECTED, ServerStatus
from toolcrib.model.view import SearchAnswer, SearchHit, ServerSummary, ToolSummary
from toolcrib.server import render


def server(name: str = "files", status: ServerStatus = CONNECTED) -> ServerSummary:
    return ServerSummary(name, "Files.", 3, 2, status, title="My Files", transport="stdio")


def test_servers_are_shown_with_counts_and_status_and_nothing_for_people_only() -> None:
    assert render.servers([server()], enabled=True) == {
        "servers": [
            {"name": "files", "description": "Files.", "toolCount": 3, "enabledCount": 2, "status": "connected"}
        ]
    }


def test_a_server_in_trouble_is_shown_with_a_bounded_reason() -> None:
    shown = render.servers([server(status=ServerStatus("error", "x" * 500))], enabled=True)["servers"][0]

    assert (shown["status"], len(shown["reason"])) == ("error", 200)


@pytest.mark.parametrize(("count", "is_short"), [(30, False), (31, True)])
def test_above_thirty_servers_only_names_and_counts_are_given_with_a_note(count: int, is_short: bool) -> None:
    answer = render.servers([server(f"s{number}") for number in range(count)], enabled=True)

    assert len(answer["servers"]) == count
    assert ("note" in answer) is is_short
    assert set(answer["servers"][0]) >= {"name", "toolCount", "enabledCount"}
    assert ("description" in answer["servers"][0]) is not is_short


def test_a_broken_server_is_marked_in_a_long_list_too() -> None:
    many = [server(f"s{number}") for number in range(30)]
    answer = render.servers([*many, server("broken", status=ServerStatus("error", "gone"))], enabled=True)

    assert [shown["name"] for shown in answer["servers"] if shown.get("status") == "error"] == ["broken"]


@pytest.mark.parametrize(("enabled", "words"), [(True, "No server is configured"), (False, "discovery.enabled: false")])
def test_an_empty_counter_says_why(enabled: bool, words: str) -> None:
    answer = render.servers([], enabled=enabled)

    assert answer["servers"] == []
    assert words in answer["note"]


def test_hits_are_shown_without_empty_fields_and_with_the_note() -> None:
    hits = (SearchHit("a", "b", "Does it.", 0.0, ("x",)), SearchHit("a", "c", "", 1.0))

    assert render.search(SearchAnswer(hits, "Hurry.")) == {
        "results": [
            {"server": "a", "tool": "b", "summary": "Does it.", "relevance": 0.0, "tags": ["x"]},
            {"server": "a", "tool": "c", "relevance": 1.0},
        ],
        "note": "Hurry.",
    }
    assert render.search(SearchAnswer(())) == {"results": []}


def summary(name: str, *, enabled: bool = True) -> ToolSummary:
    return ToolSummary("files", name, "Does it.", enabled, ("t",))


def test_tools_are_shown_with_whether_they_are_enabled() -> None:
    assert render.tools("files", [summary("a"), summary("b", enabled=False)]) == {
        "server": "files",
        "tools": [
            {"name": "a", "summary": "Does it.", "enabled": True, "tags": ["t"]},
            {"name": "b", "summary": "Does it.", "enabled": False, "tags": ["t"]},
        ],
    }


@pytest.mark.parametrize(("count", "is_short"), [(50, False), (51, True)])
def test_above_fifty_tools_only_names_are_given_with_a_note(count: int, is_short: bool) -> None:
    answer = render.tools("files", [summary(f"t{number}") for number in range(count)])

    assert len(answer["tools"]) == count
    assert ("summary" in answer["tools"][0]) is not is_short
    assert ("note" in answer) is is_short


def test_why_no_tools_are_known_is_said() -> None:
    assert render.tools("files", [], "It is gone.") == {"server": "files", "tools": [], "note": "It is gone."}


def test_a_failure_has_its_code_and_no_empty_fields() -> None:
    error = ExecutionError("SERVER_NOT_FOUND", "no", "fiels", "", "", {"nearest": ["files"]})

    assert render.failure(error) == {
        "success": False,
        "error": {"code": "SERVER_NOT_FOUND", "message": "no", "server": "fiels", "nearest": ["files"]},
    }


@pytest.mark.parametrize("is_error", [True, False])
def test_an_answer_is_one_text_block_of_compact_json(is_error: bool) -> None:
    members = render.text_result({"a": ["ñ", 1]}, is_error=is_error)

    assert json.loads(bytes(members["content"])) == [{"type": "text", "text": '{"a":["ñ",1]}'}]
    assert ("isError" in members) is is_error

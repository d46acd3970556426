from __future__ import annotations

from toolcrib.model.call import ExecutionError
from toolcrib.model.view import SearchAnswer, SearchHit, ToolSummary
from toolcrib.queries.json_forms import failure_json, hit_json, search_json, tool_json


def test_hits_are_shown_without_empty_fields_and_with_the_note() -> None:
    hits = (SearchHit("a", "b", "Does it.", 0.0, ("x",)), SearchHit("a", "c", "", 1.0))

    assert search_json(SearchAnswer(hits, "Hurry.")) == {
        "results": [
            {"server": "a", "tool": "b", "summary": "Does it.", "relevance": 0.0, "tags": ["x"]},
            {"server": "a", "tool": "c", "relevance": 1.0},
        ],
        "note": "Hurry.",
    }
    assert search_json(SearchAnswer(())) == {"results": []}


def test_where_nothing_fits_an_agent_gets_the_nearest_tools_as_before_with_the_note_that_says_so() -> None:
    near = (SearchHit("a", "b", "Does it.", 0.1),)

    assert search_json(SearchAnswer((), "Nothing fits.", nearest=near)) == {
        "results": [{"server": "a", "tool": "b", "summary": "Does it.", "relevance": 0.1}],
        "note": "Nothing fits.",
    }


def test_a_failure_has_its_code_and_no_empty_fields() -> None:
    error = ExecutionError("SERVER_NOT_FOUND", "no", "fiels", "", "", {"nearest": ["files"]})

    assert failure_json(error) == {
        "success": False,
        "error": {"code": "SERVER_NOT_FOUND", "message": "no", "server": "fiels", "nearest": ["files"]},
    }


def test_programs_get_every_field_of_a_hit_and_models_only_those_that_say_something() -> None:
    on, off = SearchHit("a", "b", "", 0.5), SearchHit("a", "c", "", 0.5, enabled=False)

    assert set(hit_json(on)) == {"server", "tool", "summary", "relevance", "tags", "enabled"}
    assert [set(hit) for hit in search_json(SearchAnswer((on, off)))["results"]] == [
        {"server", "tool", "relevance"},
        {"server", "tool", "relevance", "enabled"},
    ]


def test_a_tool_that_may_not_be_used_says_why() -> None:
    assert tool_json(ToolSummary("a", "b", "", False, (), "disabled by rule 1"))["reason"] == "disabled by rule 1"
    assert "reason" not in tool_json(ToolSummary("a", "b", "", True))

from __future__ import annotations

import json

import pytest

from toolcrib.model.call import ExecutionError
from toolcrib.model.view import SearchAnswer, SearchHit
from toolcrib.server import render


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


def test_where_nothing_fits_an_agent_gets_the_nearest_tools_as_before_with_the_note_that_says_so() -> None:
    near = (SearchHit("a", "b", "Does it.", 0.1),)

    assert render.search(SearchAnswer((), "Nothing fits.", nearest=near)) == {
        "results": [{"server": "a", "tool": "b", "summary": "Does it.", "relevance": 0.1}],
        "note": "Nothing fits.",
    }


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

from __future__ import annotations

import json

import pytest

from toolcrib.server import render


@pytest.mark.parametrize("is_error", [True, False])
def test_an_answer_is_one_text_block_of_compact_json(is_error: bool) -> None:
    members = render.text_result({"a": ["ñ", 1]}, is_error=is_error)

    assert json.loads(bytes(members["content"])) == [{"type": "text", "text": '{"a":["ñ",1]}'}]
    assert ("isError" in members) is is_error

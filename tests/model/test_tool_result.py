from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.model.call import ToolResult
from toolcrib.model.large_json import SMALL_BYTES


@pytest.mark.parametrize("raw", [b"[]", b'"x"', b"7", b"null", b"", b"{", b"[" * 100_000])
def test_what_is_no_object_is_no_result(raw: bytes) -> None:
    assert not ToolResult(raw).is_object


@pytest.mark.parametrize(
    ("raw", "is_error"),
    [
        (b"{}", False),
        (b'{"isError":true}', True),
        (b'{"isError": false}', False),
        (b'{"isError":"true"}', False),
        (b'{"isError":1}', False),
    ],
)
def test_only_a_plain_true_is_a_failure(raw: bytes, is_error: bool) -> None:
    assert ToolResult(raw).is_error is is_error


def test_all_texts_are_joined_and_only_a_single_block_is_the_only_text() -> None:
    both = ToolResult(b'{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}')
    one = ToolResult(b'{"content":[{"type":"text","text":"a"}]}')

    assert (both.text, both.only_text) == ("a\nb", None)
    assert (one.text, one.only_text) == ("a", "a")


@pytest.mark.parametrize(
    ("number", "value"),
    [("1e400", math.inf), ("-1e400", -math.inf), ("9" * 3000, int("9" * 3000)), ("9" * 9000, math.inf)],
)
def test_numbers_out_of_range_do_not_hide_the_rest(number: str, value: float) -> None:
    raw = b'{"content":[],"structuredContent":{"n":%b,"x":1}}' % number.encode()

    assert ToolResult(raw).value == {"n": value, "x": 1}


@given(
    st.dictionaries(
        st.sampled_from(["content", "structuredContent", "isError", "_meta"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda children: (
                st.lists(children, max_size=3) | st.dictionaries(st.sampled_from(["type", "text"]), children)
            ),
            max_leaves=10,
        ),
    )
)
def test_any_object_can_be_looked_at(data: dict[str, Any]) -> None:
    result = ToolResult(json.dumps(data).encode())

    assert result.is_object
    assert isinstance(result.text, str)
    assert all(isinstance(block, dict) for block in result.content)
    if data.get("structuredContent") is not None:
        assert result.value == data["structuredContent"]


_LONG = "x:" * SMALL_BYTES
_BLOCKS = st.lists(
    st.sampled_from(
        [
            {"type": "text", "text": "short"},
            {"type": "text", "text": _LONG},
            {"type": "text", "text": _LONG, "annotations": {"audience": ["user"]}},
            {"type": "text", "text": None},
            {"type": "text"},
            {"type": "image", "data": _LONG, "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///a", "name": _LONG},
            {"text": _LONG},
            "text",
        ]
    ),
    max_size=3,
)


@given(_BLOCKS)
def test_content_of_any_size_is_one_text_where_it_is_a_single_text_block(blocks: list[Any]) -> None:
    is_one = len(blocks) == 1 and blocks[0] != "text" and blocks[0].get("type") == "text"
    expected = is_one and isinstance(blocks[0].get("text"), str)

    assert ToolResult(json.dumps({"content": blocks}).encode()).is_one_text is expected

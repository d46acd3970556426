"""What becomes of a tool's result: case by case."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.model.call import ExecutionError, ToolResult
from toolcrib.server.results import Members, Shape, shape_failure, shape_result

LIMIT = 1000
IMAGE = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
LINK = {"type": "resource_link", "uri": "file:///x", "name": "x"}


class Shelf:
    def __init__(self) -> None:
        self.kept: list[bytes] = []

    def __call__(self, data: bytes) -> str:
        self.kept.append(data)
        return f"handle-{len(self.kept)}"


def shaped(result: dict[str, Any] | bytes, shape: Shape = "auto", shelf: Shelf | None = None) -> dict[str, Any]:
    raw = result if isinstance(result, bytes) else json.dumps(result).encode()
    return opened(shape_result(ToolResult(raw), shape, LIMIT, shelf or Shelf()))


def opened(members: Members) -> dict[str, Any]:
    return {name: json.loads(bytes(value)) for name, value in members.items()}


def enveloped(answer: dict[str, Any]) -> Any:
    """The JSON in the first text block of an answer."""
    return json.loads(answer["content"][0]["text"])


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


# -- auto


def test_words_and_structured_content_both_pass_as_they_are() -> None:
    given = {**text("It is 21 degrees in Oslo."), "structuredContent": {"degrees": 21}}

    assert shaped(given) == given


def test_structured_content_becomes_the_text_only_where_the_server_gave_none() -> None:
    answer = shaped({"content": [IMAGE], "structuredContent": {"n": 1.10}})

    assert answer["content"] == [{"type": "text", "text": '{"success":true,"result":{"n": 1.1}}'}, IMAGE]
    assert answer["structuredContent"] == {"n": 1.1}


def test_a_text_that_is_json_stays_what_it_says_beside_other_structured_content() -> None:
    answer = shaped({**text('{"n": 1}'), "structuredContent": {"n": 2}})

    assert enveloped(answer) == {"success": True, "result": {"n": 1}}
    assert answer["structuredContent"] == {"n": 2}


@pytest.mark.parametrize("words", ["plain words", "[1]", ""])
def test_no_text_is_lost_beside_a_null_for_structured_content(words: str) -> None:
    answer = shaped({**text(words), "structuredContent": None})

    assert answer["content"][0]["text"] in (words, f'{{"success":true,"result":{words}}}')
    assert answer["structuredContent"] is None


def test_a_null_alone_is_the_result() -> None:
    assert enveloped(shaped({"content": [], "structuredContent": None})) == {"success": True, "result": None}


def test_annotations_of_a_text_that_is_wrapped_are_kept() -> None:
    block = {"type": "text", "text": "{}", "annotations": {"audience": ["user"]}, "_meta": {"x": 1}}

    assert shaped({"content": [block]})["content"] == [{**block, "text": '{"success":true,"result":{}}'}]


@pytest.mark.parametrize("payload", ['{"n": 1.10,  "big": 12345678901234567890123}', " [1,\n 2] ", "{}", "[]"])
def test_a_single_text_that_is_a_json_object_or_array_is_spliced_in_verbatim(payload: str) -> None:
    answer = shaped(text(payload))

    assert answer["content"][0]["text"] == f'{{"success":true,"result":{payload}}}'


@pytest.mark.parametrize(
    "words",
    ["plain words", "42", '"quoted"', "true", "null", '{"broken": ', "{'python': 1}", "[1, 2", '{"a":1} and more', ""],
)
def test_a_single_text_that_is_anything_else_passes_as_it_is(words: str) -> None:
    assert shaped(text(words)) == text(words)


def test_several_blocks_pass_as_they_are_even_if_each_is_json() -> None:
    blocks = {"content": [{"type": "text", "text": "{}"}, {"type": "text", "text": "{}"}]}

    assert shaped(blocks) == blocks


@pytest.mark.parametrize(
    "block",
    [
        IMAGE,
        LINK,
        {"type": "audio", "data": "QQ==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///x", "blob": "QQ=="}},
        {"type": "from_the_future", "x": [1, None]},
    ],
)
def test_blocks_that_are_not_text_pass_as_they_are(block: dict[str, Any]) -> None:
    assert shaped({"content": [block]}) == {"content": [block]}


def test_several_blocks_beside_structured_content_pass_as_they_are() -> None:
    given = {"content": [{"type": "text", "text": "{}"}, IMAGE, LINK], "structuredContent": {"n": 1}}

    assert shaped(given) == given


def test_annotations_of_a_text_that_passes_are_kept() -> None:
    annotated = {"content": [{"type": "text", "text": "x", "annotations": {"audience": ["user"]}}]}

    assert shaped(annotated) == annotated


def test_meta_and_unknown_members_are_kept_and_members_of_the_hop_dropped() -> None:
    extra = {"_meta": {"trace": 1}, "x-new": [1], "resultType": "complete", "ttlMs": 5, "cacheScope": "public"}

    assert shaped({**text("words"), **extra}) == {**text("words"), "_meta": {"trace": 1}, "x-new": [1]}
    assert set(shaped({**text("{}"), **extra})) == {"content", "_meta", "x-new"}


@pytest.mark.parametrize("shape", ["auto", "envelope", "passthrough"])
def test_a_result_without_content_gets_one(shape: Any) -> None:
    assert isinstance(shaped({}, shape)["content"], list)


def test_json_with_lone_surrogates_passes_as_the_text_it_is() -> None:
    words = '{"a": "\\ud800"}'

    assert shaped(text(words)) == text(words)


def test_json_nested_too_deep_to_check_passes_as_text() -> None:
    words = "[" * 100_000

    assert shaped(text(words), "passthrough") == text(words)
    assert enveloped(shaped(text(words)))["truncated"]


# -- envelope and passthrough


@pytest.mark.parametrize(
    ("result", "payload"),
    [
        (text("words"), "words"),
        (text("42"), "42"),
        (text('{"n": 1}'), {"n": 1}),
        ({"content": [], "structuredContent": [1]}, [1]),
        ({"content": []}, None),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, ["a", "b"]),
        ({**text("words"), "structuredContent": {"n": 1}}, "words"),
        ({**text("words"), "structuredContent": None}, "words"),
    ],
)
def test_envelope_always_wraps(result: dict[str, Any], payload: Any) -> None:
    assert enveloped(shaped(result, "envelope")) == {"success": True, "result": payload}


def test_envelope_leaves_images_behind_the_wrapped_words() -> None:
    answer = shaped({"content": [IMAGE, {"type": "text", "text": "a cat"}]}, "envelope")

    assert enveloped(answer) == {"success": True, "result": "a cat"}
    assert answer["content"][1:] == [IMAGE]


@pytest.mark.parametrize(
    "result",
    [text('{"n": 1}'), {**text("x"), "structuredContent": {"n": 1}}, {"content": [IMAGE]}, text("x" * 5 * LIMIT)],
)
def test_passthrough_never_changes_anything(result: dict[str, Any]) -> None:
    assert shaped(result, "passthrough") == result


# -- too large


@pytest.mark.parametrize(
    ("result", "kept"),
    [
        (text("é" * LIMIT), ("é" * LIMIT).encode()),
        (text(json.dumps(["x"] * LIMIT)), json.dumps(["x"] * LIMIT).encode()),
        ({"content": [], "structuredContent": {"x": "y" * LIMIT}}, json.dumps({"x": "y" * LIMIT}).encode()),
        ({"content": [{"type": "text", "text": "a" * LIMIT}] * 2}, b"a" * LIMIT + b"\n" + b"a" * LIMIT),
    ],
)
@pytest.mark.parametrize("shape", ["auto", "envelope"])
def test_too_large_a_result_becomes_a_preview_and_a_handle_to_all_of_it(
    result: dict[str, Any], kept: bytes, shape: Any
) -> None:
    shelf = Shelf()

    answer = shaped({**result, "_meta": {"trace": 1}}, shape, shelf)

    preview = enveloped(answer)
    if shape == "auto":
        assert shelf.kept == [kept]
    assert (preview["success"], preview["truncated"], preview["handle"]) == (True, True, "handle-1")
    assert preview["bytes"] == len(shelf.kept[0])
    assert shelf.kept[0].decode().startswith(preview["preview"])
    assert "read_result" in preview["hint"]
    assert answer["_meta"] == {"trace": 1}
    assert "structuredContent" not in answer


def test_images_stay_beside_the_preview_of_too_large_a_text() -> None:
    answer = shaped({"content": [{"type": "text", "text": "x" * 2 * LIMIT}, IMAGE]})

    assert enveloped(answer)["truncated"]
    assert answer["content"][1:] == [IMAGE]


def test_images_stay_beside_the_preview_of_too_large_a_structure() -> None:
    answer = shaped({"content": [IMAGE], "structuredContent": ["x" * 2 * LIMIT]})

    assert answer["content"][1:] == [IMAGE]


def test_too_large_a_structure_beside_other_words_gets_a_handle_of_its_own() -> None:
    shelf = Shelf()

    answer = shaped({**text("Two thousand rows."), "structuredContent": ["x" * 2 * LIMIT]}, shelf=shelf)

    words, note = answer["content"]
    assert words["text"] == "Two thousand rows."
    assert json.loads(note["text"])["structuredContent"] == {
        "truncated": True,
        "bytes": len(shelf.kept[0]),
        "handle": "handle-1",
    }
    assert json.loads(shelf.kept[0]) == ["x" * 2 * LIMIT]
    assert "structuredContent" not in answer


def test_too_large_a_structure_that_the_text_repeats_is_kept_once() -> None:
    shelf = Shelf()
    value = ["x" * 2 * LIMIT]

    answer = shaped({**text(json.dumps(value, indent=2)), "structuredContent": value}, shelf=shelf)

    assert enveloped(answer)["handle"] == "handle-1"
    assert len(shelf.kept) == 1
    assert "structuredContent" not in answer


def test_a_large_structure_that_a_large_text_repeats_is_still_kept_once() -> None:
    shelf = Shelf()
    rows = [{"number": number, "name": f"row {number}"} for number in range(10_000)]

    answer = shaped({**text(json.dumps(rows)), "structuredContent": {"result": rows}}, shelf=shelf)

    assert json.loads(shelf.kept[0]) == rows
    assert (len(answer["content"]), len(shelf.kept)) == (1, 1)


def test_too_large_a_meta_is_kept_and_left_out() -> None:
    shelf = Shelf()
    beside = {"_meta": {"a": [[]] * 50_000}, "x-new": 1}

    answer = shaped({**text("words"), "structuredContent": {"n": 1}, **beside}, shelf=shelf)

    words, note = answer["content"]
    assert words["text"] == "words"
    assert answer["structuredContent"] == {"n": 1}
    assert json.loads(note["text"])["otherMembers"]["handle"] == "handle-1"
    assert json.loads(shelf.kept[0]) == beside
    assert set(answer) == {"content", "structuredContent"}


def test_too_large_a_meta_of_a_failure_is_kept_and_left_out() -> None:
    meta, shelf = {"a": ["x" * 100_000]}, Shelf()

    answer = failed(
        ExecutionError("TOOL_EXECUTION_ERROR", "no", "files", "read"), {"content": [], "_meta": meta}, shelf
    )

    assert "_meta" not in answer
    assert json.loads(shelf.kept[0]) == {"_meta": meta}


def test_texts_with_too_much_beside_them_become_a_preview() -> None:
    block = {"type": "text", "text": "words", "_meta": {"a": "x" * 100_000}}
    shelf = Shelf()

    answer = shaped({"content": [block, IMAGE, block]}, shelf=shelf)

    assert enveloped(answer)["handle"] == "handle-1"
    assert json.loads(shelf.kept[0]) == [block, block]
    assert answer["content"][1:] == [IMAGE]


def test_a_large_image_passes_however_large() -> None:
    large = {"content": [{**IMAGE, "data": "Q" * 10 * LIMIT}, {"type": "text", "text": "a cat"}]}

    assert shaped(large) == large


def test_a_preview_is_cut_at_a_whole_character() -> None:
    preview = enveloped(shaped(text("a" + "😀" * 3000)))["preview"]

    assert preview == "a" + "😀" * (len(preview) - 1)


def test_a_result_of_exactly_the_limit_is_not_too_large() -> None:
    shelf = Shelf()
    payload = '["' + "x" * (LIMIT - 4) + '"]'

    assert enveloped(shaped(text(payload), shelf=shelf))["result"] == json.loads(payload)
    assert shelf.kept == []


# -- failures


def failed(error: ExecutionError, result: dict[str, Any] | None = None, shelf: Shelf | None = None) -> dict[str, Any]:
    given = None if result is None else ToolResult.of(result)
    return opened(shape_failure(error, given, LIMIT, shelf or Shelf()))


def test_a_failure_is_a_body_with_its_code_and_is_marked() -> None:
    error = ExecutionError("TOOL_NOT_FOUND", "no such tool", "files", "reed", "Use a name.", {"nearest": ["read"]})

    answer = failed(error)

    assert answer["isError"] is True
    assert enveloped(answer) == {
        "success": False,
        "error": {
            "code": "TOOL_NOT_FOUND",
            "message": "no such tool",
            "server": "files",
            "tool": "reed",
            "hint": "Use a name.",
            "nearest": ["read"],
        },
    }


def test_what_a_tool_gave_beside_the_words_of_its_failure_stays() -> None:
    result = {
        **text("disk full"),
        "isError": True,
        "structuredContent": {"errno": 28},
        "_meta": {"trace": 1},
        "resultType": "complete",
    }
    result["content"].append(IMAGE)

    answer = failed(ExecutionError("TOOL_EXECUTION_ERROR", "disk full", "files", "write"), result)

    assert enveloped(answer)["error"]["message"] == "disk full"
    assert answer["content"][1:] == [IMAGE]
    assert (answer["structuredContent"], answer["_meta"], answer["isError"]) == ({"errno": 28}, {"trace": 1}, True)
    assert "resultType" not in answer


def test_too_long_a_message_of_a_failure_is_cut_and_kept() -> None:
    shelf = Shelf()
    error = ExecutionError("TOOL_EXECUTION_ERROR", "x" * 3 * LIMIT, "files", "write", "Mind the disk.")

    answer = failed(error, {"content": [], "isError": True, "structuredContent": ["y" * LIMIT]}, shelf)

    told = enveloped(answer)["error"]
    assert shelf.kept == [b"x" * 3 * LIMIT]
    assert len(told["message"]) < 3 * LIMIT
    assert (told["handle"], told["bytes"], told["hint"]) == ("handle-1", 3 * LIMIT, "Mind the disk.")
    assert "structuredContent" not in answer


def test_too_large_data_of_an_error_is_cut_and_kept() -> None:
    shelf = Shelf()
    error = ExecutionError(
        "TOOL_EXECUTION_ERROR", "no", "files", "write", details={"rpcCode": -1, "data": "y" * 2 * LIMIT}
    )

    told = enveloped(failed(error, shelf=shelf))["error"]

    assert json.loads(shelf.kept[0]) == "y" * 2 * LIMIT
    assert (told["rpcCode"], told["data"]["handle"], told["data"]["truncated"]) == (-1, "handle-1", True)
    assert "read_result" in told["readMore"]


@pytest.mark.parametrize("content", ["words", [7], None, {}])
def test_odd_content_of_a_failure_does_no_harm(content: Any) -> None:
    answer = failed(ExecutionError("TOOL_EXECUTION_ERROR", "no", "files", "write"), {"content": content})

    assert len(answer["content"]) == 1


# -- properties


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


@given(payload=st.lists(JSON, max_size=4) | st.dictionaries(st.text(), JSON, max_size=4), ascii_only=st.booleans())
def test_whatever_is_spliced_in_parses_back_to_exactly_itself(payload: Any, ascii_only: bool) -> None:
    spelled = json.dumps(payload, ensure_ascii=ascii_only)
    as_text = ToolResult(json.dumps(text(spelled), ensure_ascii=ascii_only).encode())
    structured = ToolResult(b'{"content":[],"structuredContent":%b}' % spelled.encode())

    for result in (as_text, structured):
        answer = opened(shape_result(result, "auto", 10**9, Shelf()))
        assert answer["content"][0]["text"] == f'{{"success":true,"result":{spelled}}}'
        assert enveloped(answer) == {"success": True, "result": payload}


@given(words=st.text())
def test_any_text_comes_out_as_it_went_in_or_as_the_json_it_is(words: str) -> None:
    answer = shaped(text(words))

    if answer["content"][0]["text"] == words:
        assert answer == text(words)
    else:
        assert enveloped(answer)["result"] == json.loads(words)


BLOCKS = st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.text() | st.sampled_from(['{"a": 1}', "[]"])})
    | st.sampled_from([IMAGE, LINK]),
    max_size=3,
)


@given(content=BLOCKS, structured=st.none() | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2))
def test_no_text_and_no_structure_is_ever_lost(content: list[dict[str, Any]], structured: Any) -> None:
    answer = shaped({"content": content, "structuredContent": structured})

    said = [block["text"] for block in answer["content"] if block["type"] == "text"]
    for block in content:
        if block["type"] == "text":
            assert any(block["text"] in words for words in said)
        else:
            assert block in answer["content"]
    assert answer["structuredContent"] == structured


@given(
    content=JSON | st.lists(st.fixed_dictionaries({"type": JSON}, optional={"text": JSON}), max_size=3),
    more=st.dictionaries(st.sampled_from(["structuredContent", "_meta", "isError", "ttlMs", "x"]), JSON, max_size=3),
    shape=st.sampled_from(["auto", "envelope", "passthrough"]),
)
def test_whatever_a_server_calls_a_result_the_answer_is_a_list_of_blocks_or_its_own_content(
    content: Any, more: dict[str, Any], shape: Any
) -> None:
    answer = shaped({"content": content, **more}, shape)

    assert isinstance(answer["content"], list) or answer["content"] == content
    assert not {"ttlMs", "resultType", "cacheScope"} & set(answer)


def test_what_belongs_to_the_hop_behind_us_is_not_passed_on() -> None:
    given = {
        "content": [],
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "x"}, "trace": 1},
        "resultType": "complete",
    }
    answer = shape_result(ToolResult.of(given), "passthrough", 1_000, lambda _: "")

    assert {name: json.loads(bytes(value)) for name, value in answer.items()} == {"content": [], "_meta": {"trace": 1}}


@pytest.mark.parametrize("meta", ["io.modelcontextprotocol/x", ["io.modelcontextprotocol/x"]])
def test_a_meta_that_is_no_object_passes_as_it_is(meta: Any) -> None:
    assert shaped({"content": [], "_meta": meta})["_meta"] == meta


def test_a_meta_of_null_is_left_out() -> None:
    assert "_meta" not in shaped({"content": [], "_meta": None})


def test_a_meta_of_the_hop_alone_is_left_out() -> None:
    given = {"content": [], "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "x"}}}

    assert set(shape_result(ToolResult.of(given), "auto", 1_000, lambda _: "")) == {"content"}

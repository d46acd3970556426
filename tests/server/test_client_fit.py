"""Results as the clients get them that we know: all that was said, where their models see it, and never cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.clients.display import ALL_OF_THE_CONTENT, ClientDisplay
from toolcrib.clients.table import display_of
from toolcrib.model.call import ToolResult
from toolcrib.server.client_fit import fitted, limit_for

IMAGE = {"type": "image", "data": "QUJD" * 10_000, "mimeType": "image/png"}
LIMIT = 64 * 1024
KNOWN = ("claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "qwen-cli-mcp-client-x", "opencode")


def said(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def result(*blocks: dict[str, Any], **members: Any) -> ToolResult:
    return ToolResult.of({"content": list(blocks), **members})


def shown(given: ToolResult, client: str) -> dict[str, Any]:
    return json.loads(bytes(fitted(given, display_of(client)).raw))


@pytest.mark.parametrize("client", ["claude-code", "codex-mcp-client", "Codex", "cursor-vscode"])
def test_text_is_not_lost_where_structured_content_takes_its_place(client: str) -> None:
    given = result(said("# A page"), IMAGE, structuredContent={"source": "readability"}, _meta={"x": 1})

    assert shown(given, client) == {
        "content": [said("# A page"), IMAGE, said('{"source":"readability"}')],
        "_meta": {"x": 1},
    }


def test_a_structure_that_gets_a_handle_in_any_case_is_not_copied_into_a_text() -> None:
    given = result(said("a"), structuredContent={"a": "x" * 2_000_000})

    assert fitted(given, display_of("claude-code")) is given


@pytest.mark.parametrize("client", ["claude-code", "codex-mcp-client", "github-copilot-developer"])
@pytest.mark.parametrize(
    ("texts", "structured"),
    [
        (['{"n": 1, "m": [true]}'], {"m": [True], "n": 1}),
        (["hello"], {"result": "hello"}),
        (["5"], {"result": 5}),
        (["a", "b"], {"result": ["a", "b"]}),
        (['{"a": 1}', '{"a": 2}'], {"result": [{"a": 1}, {"a": 2}]}),
        (['{"a": 1}'], {"result": [{"a": 1}]}),
    ],
)
def test_what_the_text_says_already_is_not_said_twice(client: str, texts: list[str], structured: Any) -> None:
    given = result(*map(said, texts), structuredContent=structured)

    assert shown(given, client) == {"content": list(map(said, texts))}


@pytest.mark.parametrize(
    ("texts", "structured"),
    [(["1"], {"n": True}), (["two rows"], {"rows": [1, 2]}), ([], {"rows": [1]}), (["{}"], {"result": "x"})],
)
def test_what_the_text_does_not_say_stays(texts: list[str], structured: Any) -> None:
    given = result(*map(said, texts), structuredContent=structured)

    assert shown(given, "github-copilot-developer") == json.loads(bytes(given.raw))
    last = shown(given, "claude-code")["content"][-1]
    assert json.loads(last["text"]) == structured


@pytest.mark.parametrize("client", ["opencode", "gemini-cli-mcp-client", "claude-ai", "somebody-else", ""])
def test_a_client_that_shows_the_content_gets_the_result_as_it_came(client: str) -> None:
    given = result(said("four items"), structuredContent={"items": [1, 2, 3, 4]})

    assert fitted(given, display_of(client)) is given


@pytest.mark.parametrize("content", [b'{"type":"text"}', b"null", b"5"])
def test_content_that_is_no_list_is_left_alone(content: bytes) -> None:
    given = ToolResult(b'{"content":%b,"structuredContent":{"a":1}}' % content)

    assert fitted(given, display_of("claude-code")) is given


def test_a_large_number_in_structured_content_keeps_every_digit() -> None:
    given = ToolResult(b'{"content":[],"structuredContent":{"id":123456789012345678901234567890,"f":1.10}}')

    assert shown(given, "claude-code")["content"][0]["text"] == '{"id":123456789012345678901234567890,"f":1.10}'


# -- how much


def limit(given: ToolResult, client: str) -> int:
    return limit_for(given, display_of(client), LIMIT)


def test_an_unknown_client_gets_what_the_settings_say() -> None:
    assert limit(result(said("x")), "somebody-else") == LIMIT
    assert limit_for(result(said("x")), display_of("claude-code"), 1_000) == 1_000


@pytest.mark.parametrize(("client", "most"), [("claude-code", 25_000 * 2.5), ("codex-mcp-client", 10_240)])
def test_a_known_client_gets_a_handle_before_it_would_cut(client: str, most: float) -> None:
    assert limit(result(said("x")), client) < most


def test_codex_counts_lines_and_quoted_characters() -> None:
    assert limit(result(said("x\n" * 200)), "codex-mcp-client") == 10_000
    assert limit(result(said("x\n" * 256)), "codex-mcp-client") == 0
    assert limit(result(said('"' * 4_000)), "codex-mcp-client") == 10_000
    assert limit(result(said('"' * 6_000)), "codex-mcp-client") == 0


def test_an_image_is_not_counted() -> None:
    assert limit(result(said("see"), IMAGE), "codex-mcp-client") == 10_000


def test_a_client_that_shows_both_counts_both() -> None:
    half = "x" * 10_000

    assert limit(result(said(half)), "github-copilot-developer") == 19_000
    assert limit(result(said(half), structuredContent={"y": half}), "github-copilot-developer") == 0


@given(st.text(max_size=3_000), st.sampled_from([*KNOWN, "somebody-else"]), st.integers(1, 200), st.integers(1, 20))
def test_the_beginning_that_fits_is_a_beginning_and_fits(text: str, client: str, most: int, lines: int) -> None:
    known = display_of(client)
    display = ClientDisplay(known.shows, most, lines, known.is_quoted)

    part = display.fitting(text)

    assert text.startswith(part)
    assert display.size(part) <= most or not part
    assert part.count("\n") < lines
    assert ALL_OF_THE_CONTENT.fitting(text) == text

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import tool
from toolcrib.model.nesting import deeper_than
from toolcrib.upstream import tool_list
from toolcrib.upstream.list_page import UnreadableList, read_page
from toolcrib.upstream.tool_list import MAX_PAGES, ListedItems, ListLimits, list_all
from toolcrib.wire.jsonrpc import METHOD_NOT_FOUND, RpcError


class Pages:
    """A server's pages in order; each leads to the next."""

    def __init__(self, *pages: Any) -> None:
        self._pages = pages
        self.asked: list[Mapping[str, Any]] = []

    async def __call__(self, params: Mapping[str, Any]) -> bytes:
        self.asked.append(params)
        number = int(params.get("cursor", "0"))
        page = self._pages[number]
        if isinstance(page, dict) and number + 1 < len(self._pages):
            page = {"nextCursor": str(number + 1), **page}
        return json.dumps(page).encode()


async def listed(*pages: Any, **limits: int) -> ListedItems:
    return await list_all(Pages(*pages), ListLimits(**limits))


def names(found: ListedItems) -> list[str]:
    return [definition["name"] for definition in found.definitions]


async def test_all_pages_are_followed_in_order() -> None:
    pages = Pages({"tools": [tool("a"), tool("b")]}, {"tools": [tool("c")]}, {"tools": []}, {"tools": [tool("d")]})

    found = await list_all(pages, ListLimits())

    assert names(found) == ["a", "b", "c", "d"]
    assert pages.asked == [{}, {"cursor": "1"}, {"cursor": "2"}, {"cursor": "3"}]
    assert found.warnings == []


async def test_definitions_are_taken_as_they_are() -> None:
    odd = {"name": "a", "x-more": {"n": [1, None]}, "inputSchema": {"$ref": "#/x"}}

    assert (await listed({"tools": [odd]})).definitions == [odd]


async def test_a_server_without_the_method_has_no_tools() -> None:
    async def refuse(_: Mapping[str, Any]) -> bytes:
        raise RpcError(METHOD_NOT_FOUND, "no tools here")

    assert (await list_all(refuse, ListLimits())).definitions == []


async def test_another_error_is_raised() -> None:
    async def refuse(_: Mapping[str, Any]) -> bytes:
        raise RpcError(-32000, "not now")

    with pytest.raises(RpcError):
        await list_all(refuse, ListLimits())


async def test_a_server_that_fails_in_the_middle_is_not_taken_for_a_short_list() -> None:
    async def fetch(params: Mapping[str, Any]) -> bytes:
        if params:
            raise RpcError(METHOD_NOT_FOUND, "gone")
        return b'{"tools":[{"name":"a"}],"nextCursor":"2"}'

    with pytest.raises(RpcError):
        await list_all(fetch, ListLimits())


async def test_a_cursor_that_leads_to_itself_ends_the_list() -> None:
    calls = 0

    async def fetch(_: Mapping[str, Any]) -> bytes:
        nonlocal calls
        calls += 1
        return json.dumps({"tools": [tool(f"t{calls}")], "nextCursor": "same"}).encode()

    assert names(await list_all(fetch, ListLimits())) == ["t1", "t2"]


async def test_endless_pages_end_at_the_limit_and_are_reported() -> None:
    calls = 0

    async def fetch(_: Mapping[str, Any]) -> bytes:
        nonlocal calls
        calls += 1
        return json.dumps({"tools": [], "nextCursor": str(calls)}).encode()

    found = await list_all(fetch, ListLimits())

    assert calls == MAX_PAGES
    assert found.warnings == ["its list of tools is longer; only the first 0 entries were read"]


async def test_no_more_tools_are_taken_or_asked_for_than_the_limit() -> None:
    pages = Pages({"tools": [tool("a"), tool("b"), tool("c")]}, {"tools": [tool("d")]})

    found = await list_all(pages, ListLimits(tools=2))

    assert (names(found), len(pages.asked)) == (["a", "b"], 1)
    assert found.warnings == ["its list of tools is longer; only the first 2 entries were read"]


async def test_entries_that_are_left_out_count_as_looked_at() -> None:
    pages = Pages({"tools": [1, 2, tool("a"), tool("b")]}, {"tools": [tool("c")]})

    found = await list_all(pages, ListLimits(tools=3))

    assert (names(found), len(pages.asked)) == (["a"], 1)
    assert found.warnings == [
        "2 of its tools left out: 2 without a name",
        "its list of tools is longer; only the first 3 entries were read",
    ]


async def test_no_more_bytes_are_taken_than_the_limit() -> None:
    pages = Pages(*({"tools": [tool(f"t{page}{number}", "x" * 1000) for number in range(4)]} for page in range(9)))

    found = await list_all(pages, ListLimits(total_bytes=10_000))

    assert len(found.definitions) == 10
    assert len(pages.asked) == 3
    assert found.warnings == ["its list of tools is longer; only the first 10 entries were read"]


@pytest.mark.parametrize("entry", ["1", "{}", "[]", '"a"', '{"name":1}'])
async def test_a_list_of_a_million_values_is_not_taken_apart(entry: str) -> None:
    async def fetch(_: Mapping[str, Any]) -> bytes:
        return f'{{"tools":[{",".join([entry] * 1_000_000)}]}}'.encode()

    with pytest.raises(UnreadableList, match="holds more than 524288 values"):
        await list_all(fetch, ListLimits())


async def test_a_long_list_is_taken_apart_outside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: dict[int, int] = {}

    def noted(text: bytes, *rest: Any) -> Any:
        threads[len(text)] = threading.get_ident()
        return read_page(text, *rest)

    monkeypatch.setattr(tool_list, "read_page", noted)
    await listed({"tools": [tool("a")]})
    await listed({"tools": [tool(f"t{number}") for number in range(5_000)]})

    short, long = (threads[size] for size in sorted(threads))
    assert short == threading.get_ident()
    assert long != threading.get_ident()


@pytest.mark.parametrize("entry", [{"description": "x"}, {"name": ""}, {"name": 5}, {"name": None}, "a", None, 7, []])
async def test_an_entry_without_a_name_is_skipped_with_a_warning(entry: Any) -> None:
    found = await listed({"tools": [entry, tool("a")]})

    assert names(found) == ["a"]
    assert found.warnings == ["1 of its tools left out: 1 without a name"]


async def test_what_is_left_out_is_one_line_however_much_it_is() -> None:
    worthless = [1, {}, "x", *[tool("a")] * 300, tool("b" * 500, "x" * 2000)]

    found = await listed({"tools": worthless}, definition_bytes=1000)

    (warning,) = found.warnings
    assert warning == (
        "303 of its tools left out: 3 without a name, 299 listed twice, such as 'a', "
        f"1 larger than 1000 bytes, such as '{'b' * 64}'"
    )


async def test_of_two_entries_with_one_name_the_first_is_used_across_pages() -> None:
    found = await listed({"tools": [tool("a", "First.")]}, {"tools": [tool("a", "Second.")]})

    assert [definition["description"] for definition in found.definitions] == ["First."]
    assert found.warnings == ["1 of its tools left out: 1 listed twice, such as 'a'"]


async def test_a_definition_that_is_too_large_is_left_out() -> None:
    found = await listed({"tools": [tool("big", "x" * 2000), tool("a")]}, definition_bytes=1000)

    assert names(found) == ["a"]
    assert found.warnings == ["1 of its tools left out: 1 larger than 1000 bytes, such as 'big'"]


async def test_a_definition_that_is_nested_too_deep_is_left_out() -> None:
    nested: Any = "x"
    for _ in range(20):
        nested = {"properties": nested}

    found = await listed({"tools": [tool("deep", inputSchema=nested), tool("a")]}, nesting=20)

    assert names(found) == ["a"]
    assert found.warnings == ["1 of its tools left out: 1 nested deeper than 20 levels, such as 'deep'"]


@pytest.mark.parametrize("page", [None, [], "x", 7])
async def test_a_page_that_is_no_object_ends_the_list_with_a_warning(page: Any) -> None:
    found = await listed(page)

    assert found.definitions == []
    assert found.warnings == ["a page of the list of tools was not an object"]


@pytest.mark.parametrize("entries", [None, {}, "x", 7])
async def test_a_page_whose_tools_are_no_list_has_none(entries: Any) -> None:
    assert (await listed({"tools": entries})).definitions == []


@pytest.mark.parametrize(
    ("values", "seconds"),
    [([None], None), ([5000], 5.0), ([5000, 1500], 1.5), ([0], 0.0), ([-3], 0.0), (["9"], None), ([True], None)],
)
async def test_the_shortest_time_to_live_of_all_pages_counts(values: list[Any], seconds: float | None) -> None:
    pages = [{"tools": []} if value is None else {"tools": [], "ttlMs": value} for value in values]

    assert (await listed(*pages)).ttl_seconds == seconds


def nested(levels: int, kind: type) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value] if kind is list else {"a": value}
    return value


@given(levels=st.integers(0, 30), limit=st.integers(0, 30), kind=st.sampled_from([list, dict]))
def test_nesting_is_counted_exactly(levels: int, limit: int, kind: type) -> None:
    assert deeper_than(nested(levels, kind), limit) == (levels > limit)


def test_a_value_nested_a_hundred_thousand_deep_is_judged_without_recursion() -> None:
    assert deeper_than(nested(100_000, list), 64)

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.calls.steps import Upstream, a_call, aimed, through
from tests.fakes import tool
from toolcrib.calls.validate_arguments import ValidateArguments
from toolcrib.errors import InvalidArguments
from toolcrib.schema.validate import ArgumentChecker

CHECK = ValidateArguments(ArgumentChecker(), lambda: 64)
READ = tool("read", inputSchema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})


async def test_arguments_that_fit_pass() -> None:
    upstream = Upstream()

    await through(CHECK, aimed(READ, {"path": "/x"}), upstream)

    assert len(upstream.calls) == 1


@pytest.mark.parametrize(("arguments", "field"), [({}, "path"), ({"path": 5}, "path")])
async def test_arguments_that_do_not_fit_are_refused_by_field_before_anything_is_sent(
    arguments: dict[str, Any], field: str
) -> None:
    upstream = Upstream()

    with pytest.raises(InvalidArguments, match=field) as caught:
        await through(CHECK, aimed(READ, arguments), upstream)
    assert (upstream.calls, caught.value.code) == ([], "TOOL_VALIDATION_ERROR")


async def test_arguments_nested_deeper_than_allowed_are_refused() -> None:
    nested: Any = 1
    for _ in range(70):
        nested = [nested]
    upstream = Upstream()

    with pytest.raises(InvalidArguments, match="deeper than 64"):
        await through(CHECK, a_call(arguments={"x": nested}), upstream)
    assert upstream.calls == []


async def test_arguments_that_can_not_be_checked_are_passed_on_and_that_is_logged_once_a_tool(
    caplog: pytest.LogCaptureFixture,
) -> None:
    upstream, check = Upstream(), ValidateArguments(ArgumentChecker(), lambda: 64)
    outside = tool("find", inputSchema={"type": "object", "properties": {"q": {"$ref": "https://example.com/q.json"}}})

    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await through(check, aimed(outside, {"q": 1}), upstream)
        await through(check, aimed(dict(outside), {"q": 1}), upstream)  # read again, the same tool
        await through(check, aimed({**outside, "name": "other"}, {"q": 1}), upstream)

    assert len(upstream.calls) == 5
    assert [record.getMessage().partition(": ")[0] for record in caplog.records] == ["files:find", "files:other"]
    assert "https://example.com/q.json" in caplog.text


async def test_a_tool_without_a_schema_takes_anything() -> None:
    upstream = Upstream()

    await through(CHECK, aimed({"name": "read"}, {"whatever": [1]}), upstream)

    assert len(upstream.calls) == 1

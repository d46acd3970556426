"""What is learnt from results, through the step of the chain and the real catalog."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.calls.steps import Upstream, a_call, through
from tests.catalogs import FailingCatalog
from tests.fakes import Clock, eventually, text, tool
from toolcrib.calls.introspect import INTROSPECTION
from toolcrib.calls.observe import Observe
from toolcrib.calls.output_shapes import CHECKED_ONE_IN, FIRST_RESULTS, MAX_RESULT_BYTES, MOST_WAITING, OutputShapes
from toolcrib.catalog.store import CatalogStore
from toolcrib.model.call import Target, ToolResult
from toolcrib.model.learnt import LearntShape
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.tool import Tool
from toolcrib.storage.memory import MemoryCatalog
from toolcrib.storage.sqlite import SqliteCatalog

IDENTITY = Identity("modern", "2026-07-28", {"name": "files"})
DECLARED = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


def structured(value: Any) -> ToolResult:
    return ToolResult.of({"content": [], "structuredContent": value})


class School:
    """A output_shapes over a catalog, fed through the step that observes calls."""

    def __init__(self, store: CatalogStore | None = None, *definitions: Mapping[str, Any]) -> None:
        self.store = store or MemoryCatalog()
        self.is_enabled = True
        self.clock = Clock()
        self._targets: dict[str, Target] = {}
        if definitions or store is None:
            self.save(*(definitions or (tool("read"),)))
        self.output_shapes = self.another_learner()

    def another_learner(self) -> OutputShapes:
        return OutputShapes(self.store, is_enabled=lambda: self.is_enabled, now=self.clock)

    def save(self, *definitions: Mapping[str, Any]) -> None:
        self.store.save_reading("files", "files", ServerReading(IDENTITY, definitions), 1.0)

    def target(self, name: str = "read") -> Target:
        found = next(found for found in self.store.tools("files") if found.name == name)
        # As on a shelf: a tool is the same object as long as its definition is the same.
        return self._targets.setdefault(found.fingerprint, Target(found, name))

    async def see(self, *results: ToolResult, name: str = "read", **more: Any) -> LearntShape | None:
        """Let these results pass, and say what is known after."""
        target = self.target(name)
        for result in results:
            call = a_call(name=name, target=target, **more)
            assert await through(Observe(self.output_shapes), call, Upstream(result)) is result
        async with asyncio.timeout(30):
            await self.output_shapes.settle()
        return self.store.learnt_shape("files", name)


async def test_the_shape_of_results_is_learnt_and_no_value_is_kept(tmp_path: Path) -> None:
    store = SqliteCatalog(tmp_path / "catalogue.db")
    school = School(store, tool("read"))

    found = await school.see(structured({"id": 1, "owner": "very secret"}), structured({"id": 2}))
    store.close()

    assert found is not None
    assert found.schema == {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "owner": {"type": "string"}},
        "required": ["id"],
    }
    assert (found.samples, found.origin, found.drift, found.learnt_at) == (2, "calls", "", school.clock())
    assert all(b"very secret" not in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("result", "schema"),
    [
        ({"content": [], "structuredContent": [1]}, {"type": "array", "items": {"type": "integer"}}),
        (text('{"ok": true}'), {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}),
        (text("[]"), {"type": "array"}),
        (text("plain words"), {"type": "string"}),
        (text("42"), {"type": "string"}),
        ({"content": [*text("one")["content"], *text("two")["content"]]}, {"type": "string"}),
    ],
)
async def test_it_is_the_payload_that_counts_not_the_envelope(result: dict[str, Any], schema: dict[str, Any]) -> None:
    found = await School().see(ToolResult.of(result))

    assert found is not None
    assert found.schema == schema


@pytest.mark.parametrize(
    "result",
    [
        {**text("it failed"), "isError": True},
        {"content": [{"type": "image", "data": "aaaa", "mimeType": "image/png"}]},
        {"content": []},
        text("x" * (MAX_RESULT_BYTES + 1)),
        {"content": [], "structuredContent": [[[[1] * 20] * 20] * 20]},
    ],
)
async def test_failures_pictures_and_very_large_results_teach_nothing(result: dict[str, Any]) -> None:
    assert await School().see(ToolResult.of(result)) is None


async def test_our_own_trial_calls_teach_nothing() -> None:
    assert await School().see(structured({"id": 1}), caller=INTROSPECTION) is None


async def test_nothing_is_learnt_while_it_is_switched_off() -> None:
    school = School()
    school.is_enabled = False

    assert await school.see(structured({"id": 1})) is None


async def test_after_the_first_results_a_new_field_changes_nothing() -> None:
    school = School()
    await school.see(*[structured({"id": 1})] * FIRST_RESULTS)

    found = await school.see(*[structured({"id": 1, "new": 2})] * (2 * CHECKED_ONE_IN))

    assert found is not None
    assert (list(found.schema["properties"]), found.samples, found.drift) == (["id"], FIRST_RESULTS, "")


async def test_a_later_result_that_does_not_fit_is_reported_once_and_widens_the_shape(
    caplog: pytest.LogCaptureFixture,
) -> None:
    school = School()
    await school.see(*[structured({"rows": [{"id": 1}]})] * FIRST_RESULTS)

    with caplog.at_level(logging.WARNING):
        found = await school.see(*[structured({"rows": [{"id": "one"}]})] * (3 * CHECKED_ONE_IN))

    assert found is not None
    assert found.drift == "rows[].id"
    assert found.schema["properties"]["rows"]["items"]["properties"] == {"id": {"type": ["integer", "string"]}}
    assert [record.message for record in caplog.records] == [
        "files:read: a result does not have the expected shape: rows[].id"
    ]


async def test_once_settled_only_one_result_in_many_is_looked_at() -> None:
    school = School()
    await school.see(*[structured({"id": 1})] * FIRST_RESULTS)

    found = await school.see(*[structured({"id": "x"})] * (CHECKED_ONE_IN - 1))
    assert found is not None
    assert found.drift == ""

    found = await school.see(structured({"id": "x"}))
    assert found is not None
    assert found.drift == "id"


async def test_a_declared_schema_is_not_learnt_but_results_are_held_to_it() -> None:
    school = School(None, tool("read", outputSchema=DECLARED))

    assert await school.see(structured({"id": 1})) is None
    found = await school.see(structured({"id": "one"}))

    assert found is not None
    assert (found.origin, found.schema, bool(found.drift)) == ("declared", {}, True)


async def test_learning_goes_on_where_another_gateway_stopped() -> None:
    school = School()
    await school.see(structured({"id": 1}), structured({"id": 1, "name": "a"}))
    school.output_shapes = school.another_learner()

    found = await school.see(structured({"id": 2, "name": None, "at": 1}))

    assert found is not None
    assert (found.samples, found.schema["required"]) == (3, ["id"])
    assert found.schema["properties"]["name"] == {"type": ["null", "string"]}


async def test_a_tool_whose_definition_changed_is_learnt_anew() -> None:
    school = School()
    await school.see(*[structured({"id": 1})] * (FIRST_RESULTS + 3))

    school.save(tool("read", "Now does something else."))
    assert school.store.learnt_shape("files", "read") is None
    found = await school.see(structured(["other"]))

    assert found is not None
    assert (found.samples, found.schema) == (1, {"type": "array", "items": {"type": "string"}})


async def test_a_flood_of_results_fills_no_memory() -> None:
    school = School(None, *(tool(f"tool{number}") for number in range(3 * MOST_WAITING)))
    for found in school.store.tools("files"):
        school.output_shapes.offer(Target(found, found.name), structured({"id": 1}))

    assert len(school.output_shapes._waiting) == MOST_WAITING
    await school.output_shapes.close()
    assert len(school.output_shapes._waiting) == 0


async def test_what_waits_is_learnt_by_itself_after_a_moment() -> None:
    school = School()
    school.output_shapes.offer(school.target(), structured({"id": 1}))

    await eventually(lambda: school.store.learnt_shape("files", "read") is not None)
    assert len(school.output_shapes._waiting) == 0


async def test_what_waits_when_the_gateway_closes_is_learnt_first() -> None:
    school = School()
    school.output_shapes.offer(school.target(), structured({"id": 1}))

    await school.output_shapes.close()

    assert school.store.learnt_shape("files", "read") is not None


@pytest.mark.parametrize("raw", [b'{"content":[],"structuredContent":{"a":1e999}}', b'{"content":3}'])
async def test_odd_results_and_a_broken_catalog_harm_nobody(raw: bytes) -> None:
    school = School(FailingCatalog("save_shape"), tool("read"))

    assert await school.see(ToolResult(raw), structured({"id": 1})) is None


async def test_every_kind_of_json_a_server_may_send_is_survived() -> None:
    values: list[Any] = [None, True, 1, 10**400, 1.5, "", [], {}, [[]], [None], {"": {}}, {"a": [{}]}]
    for value in values:
        found = await School().see(ToolResult(b'{"content":[],"structuredContent":%b}' % json.dumps(value).encode()))
        assert found is None or isinstance(found.schema, dict)


def test_a_target_is_watched_by_the_name_its_server_knows() -> None:
    school = School()
    public = Tool("files", "my_read", school.target().tool.definition)
    output_shapes = school.output_shapes

    assert output_shapes._is_wanted(Target(public, "read"))
    assert list(output_shapes._attention) == [("files", "read")]

"""One suite for every store of the catalog."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.catalogs import KINDS, open_catalog
from toolcrib.catalog.store import LAUNCHES_KEPT, CatalogStore, GatewayRow, ServerRecord
from toolcrib.model.learnt import LearntShape
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.tool import Tool

IDENTITY = Identity(
    era="modern",
    protocol_version="2026-07-28",
    server_info={"name": "Files", "version": "1.2"},
    capabilities={"tools": {"listChanged": True}},
    instructions="Ask for a file.",
)


def definition(name: str, description: str = "Does it.") -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


def reading(*definitions: Mapping[str, Any], ttl_seconds: float | None = None) -> ServerReading:
    return ServerReading(IDENTITY, definitions, ttl_seconds)


def names(tools: list[Tool]) -> list[str]:
    return [tool.id for tool in tools]


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CatalogStore]:
    with open_catalog(request.param, tmp_path) as opened:
        yield opened


def test_a_new_catalog_is_empty(store: CatalogStore) -> None:
    assert (store.servers(), store.all_tools(), store.tools("files"), store.gateways()) == ({}, [], [], [])


def test_a_reading_comes_back_as_it_was_saved(store: CatalogStore) -> None:
    tools = (definition("write"), definition("read"))

    assert store.save_reading("files", "files", reading(*tools, ttl_seconds=60.0), 1000.0)

    assert store.servers() == {"files": ServerRecord("files", "files", IDENTITY, 1000.0, 60.0, tool_count=2)}
    assert store.tools("files") == [Tool("files", "write", tools[0]), Tool("files", "read", tools[1])]


def test_items_come_back_as_they_were_saved_and_are_no_tools(store: CatalogStore) -> None:
    prompt, file, table = (
        {"name": "review"},
        {"uri": "file:///a", "name": "a"},
        {"uriTemplate": "db://{t}", "name": "t"},
    )
    told = replace(reading(definition("read")), items=(("resource", file), ("template", table), ("prompt", prompt)))

    assert store.save_reading("files", "files", told, 1000.0)

    assert store.items("files") == [
        Tool("files", "prompt:review", prompt, "prompt"),
        Tool("files", "resource:file:///a", file, "resource"),
        Tool("files", "resource:db://{t}", table, "template"),
    ]
    assert names(store.tools("files")) == ["files:read"]
    assert (store.servers()["files"].tool_count, store.servers()["files"].item_count) == (1, 3)


def test_a_reading_replaces_items_and_says_whether_they_differ(store: CatalogStore) -> None:
    first = replace(reading(), items=(("prompt", {"name": "a"}), ("prompt", {"name": "a", "title": "Again"})))
    store.save_reading("files", "files", first, 1.0)

    assert not store.save_reading("files", "files", first, 2.0)
    assert names(store.items("files")) == ["files:prompt:a"]
    assert store.save_reading("files", "files", reading(), 3.0)
    assert store.items("files") == []


def test_items_of_a_kind_that_could_not_be_listed_stay(store: CatalogStore) -> None:
    first = replace(reading(), items=(("prompt", {"name": "a"}), ("resource", {"uri": "x:y", "name": "y"})))
    store.save_reading("files", "files", first, 1.0)
    store.save_reading("files", "files", replace(reading(), unlisted=("prompt",)), 2.0)

    assert names(store.items("files")) == ["files:prompt:a"]
    assert store.servers()["files"].item_count == 1


def test_items_go_with_their_server(store: CatalogStore) -> None:
    store.save_reading("files", "files", replace(reading(), items=(("prompt", {"name": "a"}),)), 1.0)
    store.forget("files")

    assert store.items("files") == []


def test_a_tool_read_back_has_the_fingerprint_of_its_definition(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("read")), 1.0)

    assert store.tools("files")[0].fingerprint == Tool.from_mcp("files", definition("read")).fingerprint


def test_all_tools_are_ordered_by_server_then_as_the_server_ordered_them(store: CatalogStore) -> None:
    store.save_reading("web", "web", reading(definition("z"), definition("a")), 1.0)
    store.save_reading("files", "files", reading(definition("read")), 1.0)

    assert names(store.all_tools()) == ["files:read", "web:z", "web:a"]
    assert list(store.servers()) == ["files", "web"]


def test_the_same_definitions_again_are_no_change_but_renew_the_age(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a"), definition("b")), 1.0)

    assert not store.save_reading("files", "files", reading(definition("a"), definition("b")), 2.0)
    assert store.servers()["files"].read_at == 2.0


def test_another_order_of_tools_is_kept_without_being_a_change(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a"), definition("b")), 1.0)

    assert not store.save_reading("files", "files", reading(definition("b"), definition("a")), 2.0)
    assert names(store.tools("files")) == ["files:b", "files:a"]


def test_another_order_of_keys_is_no_change(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a")), 1.0)

    assert not store.save_reading("files", "files", reading(dict(reversed(definition("a").items()))), 2.0)


@pytest.mark.parametrize(
    "after",
    [
        (definition("a", "Does something else."), definition("b")),
        (definition("a"),),
        (definition("a"), definition("b"), definition("c")),
        (),
    ],
)
def test_a_changed_added_or_removed_definition_is_a_change(
    store: CatalogStore, after: tuple[dict[str, Any], ...]
) -> None:
    store.save_reading("files", "files", reading(definition("a"), definition("b")), 1.0)

    assert store.save_reading("files", "files", reading(*after), 2.0)
    assert [tool.definition for tool in store.tools("files")] == list(after)
    assert store.servers()["files"].tool_count == len(after)


def test_a_reading_of_one_server_leaves_the_others_alone(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("read")), 1.0)
    store.save_reading("web", "web", reading(definition("get")), 1.0)
    store.save_reading("web", "web", reading(), 2.0)

    assert names(store.all_tools()) == ["files:read"]


def test_of_two_tools_with_one_name_the_first_is_kept(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a", "First."), definition("a", "Second.")), 1.0)

    assert [tool.description for tool in store.tools("files")] == ["First."]


def test_an_entry_without_a_name_is_left_out(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading({"description": "Nameless."}, definition("a")), 1.0)

    assert names(store.tools("files")) == ["files:a"]


def test_what_is_given_out_cannot_change_what_is_kept(store: CatalogStore) -> None:
    given_in = definition("a")
    store.save_reading("files", "files", reading(given_in), 1.0)
    given_in["description"] = "Changed outside."
    cast("dict[str, Any]", store.tools("files")[0].definition)["description"] = "Changed outside."

    assert store.tools("files")[0].description == "Does it."


def test_a_failure_keeps_the_tools_and_says_why(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a"), ttl_seconds=5.0), 1.0)
    store.record_failure("files", "files", "it did not start", 2.0, "NO_START")

    assert store.servers()["files"] == ServerRecord(
        *("files", "files", IDENTITY, 1.0, 5.0),
        error="it did not start",
        error_at=2.0,
        tool_count=1,
        failures=1,
        error_code="NO_START",
    )
    assert names(store.tools("files")) == ["files:a"]


def test_a_failure_of_a_server_never_read_is_remembered(store: CatalogStore) -> None:
    store.record_failure("files", "files", "no such command", 2.0)

    assert store.servers() == {
        "files": ServerRecord("files", "files", None, None, None, error="no such command", error_at=2.0, failures=1)
    }


def test_failures_are_counted_until_a_reading_succeeds(store: CatalogStore) -> None:
    for at in (1.0, 2.0, 3.0):
        store.record_failure("files", "files", f"failed at {at}", at, f"CODE_{at:.0f}")
    third = store.servers()["files"]
    store.save_reading("files", "files", reading(), 5.0)

    assert (third.failures, third.error, third.error_at, third.error_code) == (3, "failed at 3.0", 3.0, "CODE_3")
    assert store.servers()["files"] == ServerRecord("files", "files", IDENTITY, 5.0, None)


def test_launches_of_one_name_are_known_apart(store: CatalogStore) -> None:
    store.save_reading("files", "old launch", reading(definition("a"), ttl_seconds=5.0), 1.0)
    store.record_failure("files", "new launch", "no such command", 2.0)

    assert store.servers() == {
        "new launch": ServerRecord(
            "files", "new launch", None, None, None, error="no such command", error_at=2.0, failures=1
        ),
        "old launch": ServerRecord("files", "old launch", IDENTITY, 1.0, 5.0, tool_count=1),
    }
    assert (names(store.tools("old launch")), names(store.tools("new launch"))) == (["files:a"], [])


def test_one_launch_under_two_names_is_one_server_under_its_last_name(store: CatalogStore) -> None:
    store.save_reading("files", "launch", reading(definition("a")), 1.0)
    store.save_reading("documents", "launch", reading(definition("a")), 2.0)

    assert store.servers() == {"launch": ServerRecord("documents", "launch", IDENTITY, 2.0, None, tool_count=1)}
    assert names(store.tools("launch")) == ["documents:a"]


def test_of_launches_that_left_the_configuration_the_last_few_are_kept(store: CatalogStore) -> None:
    for number in range(LAUNCHES_KEPT + 3):
        store.mark_stale(list(store.servers()))
        store.save_reading("files", f"launch {number}", reading(definition("a")), float(number))
    store.save_reading("web", "other", reading(), 1.0)

    kept = [f"launch {number}" for number in range(3, LAUNCHES_KEPT + 3)]
    assert [key for key, record in store.servers().items() if record.name == "files"] == kept
    assert "other" in store.servers()


def test_a_launch_that_some_configuration_still_shows_is_never_dropped(store: CatalogStore) -> None:
    for number in range(LAUNCHES_KEPT + 3):
        store.save_reading("files", f"launch {number}", reading(), float(number))

    assert len(store.servers()) == LAUNCHES_KEPT + 3


def test_a_reading_clears_an_error_and_staleness(store: CatalogStore) -> None:
    store.record_failure("files", "files", "no such command", 2.0)
    store.mark_stale(["files"])
    store.save_reading("files", "files", reading(), 3.0)

    assert store.servers()["files"] == ServerRecord("files", "files", IDENTITY, 3.0, None)


def test_what_a_server_asks_is_remembered_whatever_is_read_of_it(store: CatalogStore) -> None:
    store.note_asks("files", "files", ["roots"])
    first = store.change_token()
    store.note_asks("files", "files", ["roots"])
    assert store.change_token() == first
    assert store.servers()["files"].read_at is None
    store.save_reading("files", "files", reading(definition("a")), 1.0)
    store.record_failure("files", "files", "gone", 2.0)
    store.note_asks("files", "files", ["elicitation"])

    assert store.servers()["files"].asks == {"roots", "elicitation"}
    assert store.change_token() != first
    store.save_reading("files", "other launch", reading(definition("a")), 3.0)
    assert store.servers()["other launch"].asks == frozenset()


def test_an_expired_server_keeps_its_tools_until_it_is_read_again(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a")), 1.0)
    store.save_reading("web", "web", reading(), 1.0)
    before = store.change_token()

    store.expire(["files", "nobody"])
    noticed = store.change_token()
    store.expire(["files"])

    assert before != noticed == store.change_token()
    assert {key: record.expired for key, record in store.servers().items()} == {"files": True, "web": False}
    assert names(store.tools("files")) == ["files:a"]
    store.record_failure("files", "files", "it did not start", 2.0)
    assert store.servers()["files"].expired
    store.save_reading("files", "files", reading(definition("a")), 3.0)
    assert not store.servers()["files"].expired


def test_a_stale_server_keeps_its_tools_and_can_come_back(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a")), 1.0)
    store.save_reading("web", "web", reading(), 1.0)

    store.mark_stale({"files", "unknown"})
    assert {name: record.stale for name, record in store.servers().items()} == {"files": True, "web": False}
    assert names(store.tools("files")) == ["files:a"]

    store.mark_stale(["files"], stale=False)
    assert not store.servers()["files"].stale


def test_a_forgotten_server_is_gone_with_its_tools(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a")), 1.0)
    store.forget("files")
    store.forget("files")

    assert (store.servers(), store.all_tools()) == ({}, [])


def test_every_change_of_servers_or_tools_changes_the_token(store: CatalogStore) -> None:
    changes: list[Callable[[], object]] = [
        lambda: store.save_reading("files", "files", reading(definition("a")), 1.0),
        lambda: store.save_reading("files", "files", reading(definition("a")), 2.0),
        lambda: store.record_failure("files", "files", "gone", 3.0),
        lambda: store.mark_stale(["files"]),
        lambda: store.mark_stale(["files"], stale=False),
        lambda: store.forget("files"),
    ]
    tokens = [store.change_token()]
    for change in changes:
        change()
        tokens.append(store.change_token())

    assert len(set(tokens)) == len(changes) + 1


def test_what_changes_nothing_in_the_catalog_leaves_the_token(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a")), 1.0)
    before = store.change_token()

    store.mark_stale(["files"], stale=False)
    store.mark_stale([])
    store.forget("unknown")
    store.try_lease("files", "me", 1.0, 60.0)
    store.gateway_started(GatewayRow("me", 7, "stdio", 1.0, 1.0))
    store.gateway_seen("me", 2.0, {"files": "connected"})

    assert store.change_token() == before


def test_a_lease_excludes_others_until_it_ends_or_is_released(store: CatalogStore) -> None:
    assert store.try_lease("files", "me", 100.0, 30.0)
    assert not store.try_lease("files", "you", 129.9, 30.0)
    assert store.try_lease("web", "you", 100.0, 30.0)
    assert store.try_lease("files", "you", 130.0, 30.0)
    assert not store.try_lease("files", "me", 131.0, 30.0)

    store.release_lease("files", "you")
    assert store.try_lease("files", "me", 132.0, 30.0)


def test_the_holder_may_renew_its_lease(store: CatalogStore) -> None:
    store.try_lease("files", "me", 100.0, 30.0)

    assert store.try_lease("files", "me", 120.0, 30.0)
    assert not store.try_lease("files", "you", 140.0, 30.0)


def test_nobody_releases_the_lease_of_another(store: CatalogStore) -> None:
    store.try_lease("files", "me", 100.0, 30.0)
    store.release_lease("files", "you")
    store.release_lease("never leased", "you")

    assert not store.try_lease("files", "you", 101.0, 30.0)


def test_gateways_are_listed_with_what_they_last_said(store: CatalogStore) -> None:
    started_with = {"http.port": 8665, "http.allowedHosts": ["here"]}
    store.gateway_started(GatewayRow("b", 11, "http", 2.0, 2.0, started_with=started_with))
    store.gateway_started(GatewayRow("a", 10, "stdio", 1.0, 1.0))
    store.gateway_seen("a", 5.0, {"files": "connected"}, {"files": {"cursor": 2}})
    store.gateway_seen("unknown", 5.0, {})

    assert store.gateways() == [
        GatewayRow("a", 10, "stdio", 1.0, 5.0, {"files": "connected"}, users={"files": {"cursor": 2}}),
        GatewayRow("b", 11, "http", 2.0, 2.0, started_with=started_with),
    ]


def test_a_gateway_that_leaves_gives_its_leases_back(store: CatalogStore) -> None:
    store.gateway_started(GatewayRow("me", 10, "stdio", 1.0, 1.0))
    store.try_lease("files", "me", 1.0, 1000.0)
    store.try_lease("web", "you", 1.0, 1000.0)
    store.gateway_gone("me")

    assert store.gateways() == []
    assert store.try_lease("files", "you", 2.0, 10.0)
    assert not store.try_lease("web", "me", 2.0, 10.0)


def test_several_threads_write_at_once_and_nothing_is_lost(store: CatalogStore) -> None:
    def write(thread: int) -> None:
        for number in range(10):
            name = f"s{thread}-{number}"
            store.save_reading(name, name, reading(definition("a"), definition("b")), 1.0)
            store.all_tools()

    threads = [threading.Thread(target=write, args=(thread,), daemon=True) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)

    assert (len(store.servers()), len(store.all_tools())) == (40, 80)


def test_closing_twice_is_harmless(store: CatalogStore) -> None:
    store.close()
    store.close()


texts = st.text(max_size=40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
definitions = st.builds(lambda extra, name: {**extra, "name": name}, st.dictionaries(texts, json_values), texts)


@given(st.lists(definitions, max_size=5, unique_by=lambda item: str(item["name"])))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_definition_comes_back_equal(store: CatalogStore, tools: list[dict[str, Any]]) -> None:
    store.save_reading("any", "any", reading(*tools), 1.0)

    assert store.tools("any") == [Tool("any", str(tool["name"]), tool) for tool in tools]


@given(st.text("aÄ😀\n\0\ud800\udbff", min_size=1) | st.text("aÄ😀\n\0\udc00\udfff", min_size=1))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_half_surrogate_pairs_are_replaced_everywhere_and_nothing_fails(store: CatalogStore, text: str) -> None:
    odd = {"name": text, "description": text, "inputSchema": {"properties": {text: {"enum": [text]}}}}
    identity = Identity("legacy", "2024-11-05", {"name": text}, {}, text)
    store.save_reading("any", "any", ServerReading(identity, (odd,)), 1.0)
    store.record_failure("any", "any", text, 2.0)
    store.gateway_started(GatewayRow("me", 1, "stdio", 1.0, 1.0, {"any": "x"}))
    record, (tool,) = store.servers()["any"], store.tools("any")

    assert record.identity is not None
    for kept in (tool.name, tool.definition["description"], record.identity.instructions, record.error):
        kept.encode()
        assert kept.replace("�", "") == "".join(char for char in text if not "\ud800" <= char <= "\udfff")
    assert not store.save_reading("any", "any", ServerReading(identity, (odd,)), 3.0)


def test_a_definition_of_the_largest_size_and_depth_comes_back_equal(store: CatalogStore) -> None:
    nested: dict[str, Any] = {"type": "string"}
    for _ in range(64):
        nested = {"type": "object", "properties": {"inner": nested}}
    large = {"name": "large", "description": "ü" * 64 * 1024, "inputSchema": nested}
    store.save_reading("any", "any", reading(large), 1.0)

    assert store.tools("any")[0].definition == large


# -- what was learnt of results


def learnt(store: CatalogStore, tool: str = "a", **more: Any) -> LearntShape:
    fingerprint = next(found.fingerprint for found in store.tools("files") if found.name == tool)
    return LearntShape("files", tool, fingerprint, {"type": "object", "properties": {"id": {}}}, **more)


def test_what_was_learnt_comes_back_as_it_was_saved(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a")), 1.0)
    shape = learnt(store, samples=3, origin="introspection", drift="rows[].id", learnt_at=7.0)

    store.save_shape(shape)

    assert store.learnt_shape("files", "a") == shape
    assert store.learnt_shape("files", "b") is None


def test_what_was_learnt_of_one_server_is_given_at_once(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a"), definition("b"), definition("c")), 1.0)
    store.save_reading("web", "web", reading(definition("a")), 1.0)
    shapes = {name: learnt(store, name, learnt_at=7.0) for name in ("a", "c")}
    for shape in shapes.values():
        store.save_shape(shape)

    assert store.learnt_shapes("files") == shapes
    assert store.learnt_shapes("web") == store.learnt_shapes("nobody") == {}


def test_what_was_learnt_outlives_a_reading_that_brings_nothing_new(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a"), definition("b")), 1.0)
    store.save_shape(learnt(store))

    store.save_reading("files", "files", reading(definition("b"), definition("a")), 2.0)

    assert store.learnt_shape("files", "a") == learnt(store)


@pytest.mark.parametrize("after", [(definition("a", "Now does something else."),), (definition("b"),), ()])
def test_a_tool_that_changes_or_goes_takes_along_what_was_learnt_of_it(
    store: CatalogStore, after: tuple[dict[str, Any], ...]
) -> None:
    store.save_reading("files", "files", reading(definition("a")), 1.0)
    store.save_shape(learnt(store))

    store.save_reading("files", "files", reading(*after), 2.0)
    store.save_reading("files", "files", reading(definition("a")), 3.0)

    assert store.learnt_shape("files", "a") is None


def test_a_forgotten_server_takes_along_what_was_learnt_of_its_tools(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a")), 1.0)
    store.save_shape(learnt(store))

    store.forget("files")
    store.save_reading("files", "files", reading(definition("a")), 2.0)

    assert store.learnt_shape("files", "a") is None


def test_nothing_is_kept_of_a_tool_that_is_not_known_or_not_that_one(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a")), 1.0)

    store.save_shape(LearntShape("files", "b", "unknown", {}))
    store.save_shape(LearntShape("files", "a", "another definition", {}))
    store.save_shape(LearntShape("nobody", "a", "unknown", {}))

    assert store.learnt_shape("files", "a") is store.learnt_shape("files", "b") is None


def test_what_was_learnt_from_fewer_results_does_not_replace_more(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a")), 1.0)
    store.save_shape(learnt(store, samples=4))

    store.save_shape(learnt(store, samples=2, drift="id"))
    assert store.learnt_shape("files", "a") == learnt(store, samples=4)

    store.save_shape(learnt(store, samples=4, drift="id"))
    assert store.learnt_shape("files", "a") == learnt(store, samples=4, drift="id")


def test_learning_is_no_change_of_servers_or_tools(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("a")), 1.0)
    before = store.change_token()

    store.save_shape(learnt(store))

    assert store.change_token() == before


# -- vectors


def test_vectors_come_back_by_the_hash_of_their_text(store: CatalogStore) -> None:
    store.save_vectors("encoder", {b"one": b"\x00\x01", b"two": b""})

    assert store.vectors("encoder", [b"two", b"one", b"three"]) == {b"one": b"\x00\x01", b"two": b""}
    assert store.vectors("encoder", []) == {}


def test_a_vector_saved_again_takes_the_place_of_the_old_one_and_others_stay(store: CatalogStore) -> None:
    store.save_vectors("encoder", {b"one": b"old", b"two": b"kept"})
    store.save_vectors("encoder", {b"one": b"new"})
    store.save_vectors("encoder", {})

    assert store.vectors("encoder", [b"one", b"two"]) == {b"one": b"new", b"two": b"kept"}


def test_vectors_of_one_encoder_are_never_taken_for_those_of_another(store: CatalogStore) -> None:
    store.save_vectors("former", {b"one": b"old"})
    assert store.vectors("encoder", [b"one"]) == {}

    store.save_vectors("encoder", {b"one": b"new"})

    assert store.vectors("encoder", [b"one"]) == {b"one": b"new"}
    assert store.vectors("former", [b"one"]) in ({}, {b"one": b"old"})


def test_thousands_of_vectors_are_looked_up_at_once(store: CatalogStore) -> None:
    kept = {number.to_bytes(16): bytes([number % 256]) * 388 for number in range(3_000)}
    store.save_vectors("encoder", kept)

    assert store.vectors("encoder", [*kept, b"unknown"]) == kept


def test_vectors_change_nothing_that_another_gateway_must_take_over(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("read")), 1.0)
    before = store.change_token()

    store.save_vectors("encoder", {b"one": b"vector"})

    assert store.change_token() == before


def test_vectors_outlive_the_server_they_were_made_for(store: CatalogStore) -> None:
    store.save_reading("files", "files", reading(definition("read")), 1.0)
    store.save_vectors("encoder", {b"one": b"vector"})
    store.forget("files")

    assert store.vectors("encoder", [b"one"]) == {b"one": b"vector"}

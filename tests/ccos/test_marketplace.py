from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.ccos.counter import FILES, World, definition, proposed
from toolcrib.approvals.store import CapabilityRow
from toolcrib.ccos.compatibility import version_of
from toolcrib.ccos.from_tool import manifest_of
from toolcrib.ccos.known_capability import ListedTool
from toolcrib.ccos.manifest import Manifest
from toolcrib.ccos.query import CapabilityQuery
from toolcrib.errors import CapabilityNotFound, CapabilityRefused, ValidationError
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.model.tool import Tool

WEATHER = ServerSpec("weather", RemoteLaunch("https://weather.example.com/mcp"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def ids(found: list[Any]) -> list[str]:
    return [capability.id for capability in found]


def weather(version: str = "1.0.0", **properties: Any) -> Manifest:
    tool = definition("get_weather", "Weather of a city", **(properties or {"city": {"type": "string"}}))
    return replace(manifest_of(Tool.from_mcp("weather", tool), WEATHER, status="approved"), version=version)


def test_what_configured_servers_offer_may_be_used_and_what_rules_disable_may_not(world: World) -> None:
    assert ids(world.marketplace.all()) == ["mcp.files.read_file", "mcp.github.list_issues"]
    assert world.marketplace.get("mcp.files.delete_file") is None
    assert world.marketplace.get("mcp.old.list_things") is None
    found = world.marketplace.get("mcp.github.list_issues")
    assert found is not None
    assert found.approval_status == "auto_approved"


def test_the_catalog_knows_all_of_it_with_the_reason_why_not(world: World) -> None:
    known = {capability.id: (capability.status, bool(capability.reason)) for capability in world.catalog.known()}

    assert known == {
        "mcp.files.delete_file": ("auto_approved", True),
        "mcp.files.read_file": ("auto_approved", False),
        "mcp.github.list_issues": ("auto_approved", False),
        "mcp.old.list_things": ("revoked", True),
    }


def test_pending_capabilities_are_known_but_not_in_the_marketplace_until_a_person_approves(world: World) -> None:
    made = world.review.propose(proposed(), "agent")
    assert world.catalog.get("mcp.notes.list_notes") is not None
    assert world.marketplace.get("mcp.notes.list_notes") is None

    world.review.approve(made.id, "ada")
    assert world.marketplace.get("mcp.notes.list_notes") is None  # nobody configured it yet
    world.specs["notes"] = made.spec
    found = world.marketplace.get("mcp.notes.list_notes")
    assert found is not None
    assert found.approval_status == "approved"

    world.review.reject(made.id, "ada")
    assert world.marketplace.get("mcp.notes.list_notes") is None


def test_what_an_approved_server_really_has_counts_once_it_was_read(world: World) -> None:
    made = world.review.approve(world.review.propose(proposed(), "agent").id, "ada")
    world.specs["notes"] = made.spec
    world.listed.append(ListedTool(Tool.from_mcp("notes", definition("search_notes")), made.spec))

    assert [id for id in ids(world.marketplace.all()) if "notes" in id] == ["mcp.notes.search_notes"]


def test_a_registered_capability_may_be_used_and_is_known(world: World) -> None:
    done = world.marketplace.register(weather(), by="ada")

    assert done.outcome == "registered"
    assert world.marketplace.get("mcp.weather.get_weather") == weather()
    assert "mcp.weather.get_weather" in ids(world.catalog.known())
    assert done.manifest.provenance.registered_at == world.clock()
    assert [(event.what, event.by, event.subject) for event in world.events] == [
        ("capability_registered", "ada", "mcp.weather.get_weather")
    ]


def test_registering_it_again_changes_nothing(world: World) -> None:
    world.marketplace.register(weather())

    assert world.marketplace.register(weather()).outcome == "unchanged"
    assert world.happenings() == ["capability_registered"]
    assert world.marketplace.history("mcp.weather.get_weather") == []


def test_a_pending_manifest_is_registered_as_known_only(world: World) -> None:
    world.marketplace.register(replace(weather(), approval_status="pending"))

    assert world.marketplace.get("mcp.weather.get_weather") is None
    assert world.catalog.get("mcp.weather.get_weather") is not None
    assert world.marketplace.register(weather()).outcome == "updated"
    assert world.marketplace.get("mcp.weather.get_weather") is not None


def test_registering_in_the_catalog_alone_lets_nobody_use_it(world: World) -> None:
    world.catalog.register(weather())
    assert world.marketplace.get("mcp.weather.get_weather") is None

    world.marketplace.register(weather())
    world.catalog.register(weather())
    assert world.marketplace.get("mcp.weather.get_weather") is not None


CITY = {"type": "string"}


@pytest.mark.parametrize(
    "later",
    [
        weather("1.0.1"),
        weather("1.2.0"),
        replace(weather("1.0.0"), description="Better words"),
        replace(weather("1.1.0"), categories=("crud.read", "weather")),
    ],
)
def test_a_compatible_version_replaces_the_one_before_which_stays_in_the_history(world: World, later: Manifest) -> None:
    world.marketplace.register(weather())

    assert world.marketplace.register(later).outcome == "updated"
    assert world.marketplace.get(later.id) == later
    assert world.marketplace.history(later.id) == [weather()]
    assert world.happenings()[-1] == "capability_updated"


def test_an_optional_input_more_is_compatible(world: World) -> None:
    tool = definition("get_weather", "Weather of a city", city=CITY)
    tool["inputSchema"]["properties"]["days"] = {"type": "integer"}
    later = replace(manifest_of(Tool.from_mcp("weather", tool), WEATHER, status="approved"), version="1.1.0")
    world.marketplace.register(weather())

    assert world.marketplace.register(later).outcome == "updated"


@pytest.mark.parametrize(
    ("later", "why"),
    [
        (weather("2.0.0"), "major"),
        (weather("0.9.0"), "older"),
        (weather("next"), "compared"),
        (weather("1.1.0", city=CITY, unit=CITY), "requires 'unit'"),
        (weather("1.1.0", city={"type": "integer"}), "type of 'city'"),
        (weather("1.1.0", town=CITY), "no longer accepts 'city'"),
        (replace(weather("1.1.0"), effects=(":network", ":filesystem")), "effects"),
        (replace(weather("1.1.0"), permissions=("admin",)), "permissions"),
        (replace(weather("1.1.0"), provider=replace(weather().provider, tool_name="other")), "another server or tool"),
    ],
)
def test_a_breaking_version_is_refused_unless_it_is_forced(world: World, later: Manifest, why: str) -> None:
    world.marketplace.register(weather())

    with pytest.raises(CapabilityRefused) as refused:
        world.marketplace.update(later)
    assert why in refused.value.message
    assert world.marketplace.get(later.id) == weather()
    assert world.marketplace.update(later, force=True).outcome == "updated"
    assert world.marketplace.get(later.id) == later


def test_an_output_that_gives_less_is_breaking(world: World) -> None:
    def giving(version: str, **given: Any) -> Manifest:
        tool = {**definition("get_weather"), "outputSchema": definition("x", **given)["inputSchema"]}
        return replace(manifest_of(Tool.from_mcp("weather", tool), WEATHER, status="approved"), version=version)

    world.marketplace.register(giving("1.0.0", sky=CITY, wind=CITY))

    assert world.marketplace.register(giving("1.1.0", sky=CITY, wind=CITY, rain=CITY)).outcome == "updated"
    for worse in (
        giving("1.2.0", sky=CITY),
        giving("1.2.0", sky=CITY, wind={"type": "integer"}, rain=CITY),
        weather("1.2.0"),
    ):
        with pytest.raises(CapabilityRefused):
            world.marketplace.register(worse)


def test_a_registration_is_removed_and_a_tool_of_a_configured_server_is_not(world: World) -> None:
    world.marketplace.register(weather())
    world.marketplace.remove("mcp.weather.get_weather", by="ada")

    assert world.marketplace.get("mcp.weather.get_weather") is None
    assert world.marketplace.history("mcp.weather.get_weather") == [weather()]
    assert world.happenings() == ["capability_registered", "capability_removed"]
    with pytest.raises(CapabilityRefused, match="configured"):
        world.marketplace.remove("mcp.github.list_issues")
    with pytest.raises(CapabilityNotFound) as refused:
        world.marketplace.remove("mcp.github.list_issue")
    assert refused.value.details["nearest"] == ["mcp.github.list_issues"]


def test_a_registration_of_a_tool_that_is_disabled_or_gone_may_not_be_used(world: World) -> None:
    for listed in world.listed[2:]:
        spec = listed.spec or ServerSpec(listed.tool.server, RemoteLaunch("https://x/"))
        world.marketplace.register(manifest_of(listed.tool, spec, status="approved"))

    assert ids(world.marketplace.all()) == ["mcp.files.read_file", "mcp.github.list_issues"]


def test_a_row_of_another_version_of_toolcrib_is_left_alone(world: World) -> None:
    world.store.save_capability(CapabilityRow("mcp.x.y", "1", '{"strange":1}', 1.0), replaces=None)

    assert world.registrations.all() == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (CapabilityQuery(id="mcp.github.*"), ["mcp.github.list_issues"]),
        (CapabilityQuery(id="MCP.*.{read_file,nothing}"), ["mcp.files.read_file"]),
        (CapabilityQuery(domain="github"), ["mcp.github.list_issues"]),
        (CapabilityQuery(domain="github.issues.comments"), ["mcp.github.list_issues"]),
        (CapabilityQuery(domain="git"), []),
        (CapabilityQuery(category="crud.read"), ["mcp.files.read_file", "mcp.github.list_issues"]),
        (CapabilityQuery(category="crud"), []),
        (CapabilityQuery(provider="files"), ["mcp.files.read_file"]),
        (CapabilityQuery(provider="api.example.com"), ["mcp.github.list_issues"]),
        (CapabilityQuery(provider="MCP"), ["mcp.files.read_file", "mcp.github.list_issues"]),
        (CapabilityQuery(effect="network", limit=1), ["mcp.files.read_file"]),
        (CapabilityQuery(permission="admin"), []),
        (CapabilityQuery(text="list ISSUES repository"), ["mcp.github.list_issues"]),
        (CapabilityQuery(text="owner"), ["mcp.github.list_issues"]),
        (CapabilityQuery(id="*", text="file", status="auto_approved"), ["mcp.files.read_file"]),
        (CapabilityQuery(status="pending"), []),
    ],
)
def test_the_marketplace_is_asked_by_id_domain_category_provider_and_text(
    world: World, query: CapabilityQuery, found: list[str]
) -> None:
    assert ids(world.marketplace.query(query)) == found


@pytest.mark.parametrize("pattern", ["[", "{a", "x" * 300])
def test_a_pattern_that_cannot_be_read_is_refused(world: World, pattern: str) -> None:
    with pytest.raises(ValidationError):
        world.marketplace.query(CapabilityQuery(id=pattern))


def test_words_are_searched_by_the_published_points(world: World) -> None:
    scores = {hit.capability.id: hit.score for hit in world.catalog.search("list issues")}

    # "list" is found in both, the whole query in one; words of two letters do not count.
    assert scores == {"mcp.github.list_issues": 12.0, "mcp.old.list_things": 1.0}
    assert world.catalog.search("a it") == []
    assert {hit.score for hit in world.catalog.search("")} == {1.0}
    assert len(world.catalog.search("", limit=2)) == 2


def test_meaning_is_searched_by_the_engine_handed_in(world: World) -> None:
    best = world.catalog.search("show me the bugs of a repository", semantic=True)[0]

    assert best.capability.id == "mcp.github.list_issues"
    assert 0 < best.score <= 1


def test_learnt_outputs_are_looked_up_only_for_what_is_shown(world: World) -> None:
    asked: list[str] = []

    def learnt() -> dict[str, Any]:
        asked.append("read_file")
        return {"type": "object", "properties": {"text": CITY}}

    world.listed = [ListedTool(Tool.from_mcp("files", definition("read_file")), FILES, learnt=learnt)]
    known = world.catalog.known()
    assert not asked

    assert known[0].manifest.output_schema is not None
    assert asked == ["read_file"]


@pytest.mark.parametrize(
    ("text", "numbers"), [("1.2.3", (1, 2, 3)), ("v2", (2, 0, 0)), ("1.4-beta", (1, 4, 0)), ("x", None)]
)
def test_versions_are_three_numbers(text: str, numbers: Any) -> None:
    assert version_of(text) == numbers

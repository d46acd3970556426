from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ccos.counter import World, proposed
from toolcrib.ccos.resolution import CapabilityResolver, RegistryOffer, words_of
from toolcrib.errors import ServerConnectionError, ValidationError


@dataclass(frozen=True)
class Offer:
    name: str
    relevance: float
    description: str = "A server."
    reasons: tuple[str, ...] = ("its words fit",)


class Registry:
    """Offers what it was given, or fails; remembers what it was asked."""

    def __init__(self, *offers: Offer, fails: bool = False) -> None:
        self._offers = offers
        self._fails = fails
        self.asked: list[str] = []

    async def offers(self, query: str, limit: int) -> Iterable[RegistryOffer]:
        self.asked.append(query)
        if self._fails:
            raise ServerConnectionError("the registry is away", server="registry")
        return self._offers[:limit]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_an_id_that_is_here_is_found_here_and_nobody_else_is_asked(world: World) -> None:
    registry = Registry(Offer("io.example/github", 1.0))

    found = await CapabilityResolver(world.catalog, registry).resolve("mcp.github.list_issues")

    assert found.best is not None
    assert (found.best.id, found.best.place, found.best.score) == ("mcp.github.list_issues", "local", 1.0)
    assert found.best.next_step == ""
    assert found.is_at_hand
    assert registry.asked == []


async def test_the_same_tool_elsewhere_is_offered_for_an_id_nobody_has(world: World) -> None:
    found = await CapabilityResolver(world.catalog).resolve("mcp.gitlab.list_issues")

    assert found.best is not None
    assert found.best.id == "mcp.github.list_issues"
    assert found.best.reasons == ("the same tool on another server",)


async def test_a_tool_about_the_same_thing_is_offered_with_its_reason(world: World) -> None:
    found = await CapabilityResolver(world.catalog).resolve("mcp.github.update_issue")

    candidate = next(one for one in found.candidates if one.id == "mcp.github.list_issues")
    assert any("issues" in reason or "fits" in reason for reason in candidate.reasons)


async def test_a_description_is_found_by_meaning(world: World) -> None:
    found = await CapabilityResolver(world.catalog).resolve("read the content of a file")

    assert found.best is not None
    assert found.best.id == "mcp.files.read_file"


async def test_the_registry_is_asked_where_nothing_here_fits(world: World) -> None:
    registry = Registry(Offer("io.example/weather", 0.9), Offer("io.example/other", 0.2))

    found = await CapabilityResolver(world.catalog, registry).resolve("mcp.weather.get_forecast")

    assert registry.asked == ["weather get forecast"]
    assert found.best is not None
    assert (found.best.id, found.best.place) == ("io.example/weather", "registry")
    assert "a person has to add it" in found.best.next_step
    assert not found.is_at_hand
    quiet = await CapabilityResolver(world.catalog, registry).resolve("weather forecast", ask_registry=False)
    assert all(candidate.place != "registry" for candidate in quiet.candidates)


async def test_what_is_known_but_may_not_be_used_says_what_is_missing(world: World) -> None:
    world.review.propose(proposed(), "agent")

    steps = {}
    for id in ("mcp.notes.list_notes", "mcp.files.delete_file", "mcp.old.list_things"):
        found = await CapabilityResolver(world.catalog).resolve(id)
        assert found.best is not None
        assert (found.best.id, found.best.place) == (id, "known")
        steps[id] = found.best.next_step

    assert "approve" in steps["mcp.notes.list_notes"]
    assert "rules" in steps["mcp.files.delete_file"]
    assert "add" in steps["mcp.old.list_things"]


async def test_a_registry_that_fails_leaves_what_was_found_here(world: World) -> None:
    found = await CapabilityResolver(world.catalog, Registry(fails=True)).resolve("weather forecast for tomorrow")

    assert found.troubles == ("the registry is away",)


async def test_candidates_are_ranked_bounded_and_each_named_once(world: World) -> None:
    registry = Registry(*(Offer(f"io.example/s{number}", number / 10) for number in range(10)))

    found = await CapabilityResolver(world.catalog, registry).resolve("list something", limit=4)

    assert len(found.candidates) == 4
    assert len({candidate.id for candidate in found.candidates}) == 4
    assert all(0 <= candidate.score <= 1 and candidate.reasons for candidate in found.candidates)


@pytest.mark.parametrize("wanted", ["", "   ", "x" * 401])
async def test_nothing_or_too_much_is_refused(world: World, wanted: str) -> None:
    with pytest.raises(ValidationError):
        await CapabilityResolver(world.catalog).resolve(wanted)


def test_the_words_of_an_id_are_what_a_registry_is_asked() -> None:
    assert words_of("mcp.github.listIssues") == "github list issues"
    assert words_of("list my issues") == "list my issues"

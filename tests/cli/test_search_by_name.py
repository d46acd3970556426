"""A search for names: globs and regular expressions in the place of words."""

from __future__ import annotations

import pytest

from tests.cli.machine import Machine
from tests.fakes import FakeServer, FakeServers, spec, tool
from toolcrib import Settings, open_gateway


def found(machine: Machine, *words: str) -> list[str]:
    ran = machine.run("search", *words, "--wait", "0", "--json")
    return [f"{hit['server']}:{hit['tool']}" for hit in ran.json["results"]]


@pytest.mark.parametrize(
    ("query", "tools"),
    [
        ("*issue*", ["github:create_issue"]),
        ("*ISSUE", ["github:create_issue"]),
        ("/^list_/", ["github:list_repos"]),
        ("/REPOS$/i", ["github:list_repos"]),
        ("/REPOS$/", []),
        ("github:*", ["github:create_issue", "github:list_repos"]),
        ("{create,list}_*", ["github:create_issue", "github:list_repos"]),
        ("*_* !*issue*", ["github:list_repos", "filesystem:délivrer_文件", "filesystem:read_file"]),
        ("/file|文件/", ["filesystem:délivrer_文件", "filesystem:read_file"]),
        ("*delete*", []),  # disabled by a rule
    ],
)
def test_a_pattern_matches_names(seeded: Machine, query: str, tools: list[str]) -> None:
    assert sorted(found(seeded, query)) == sorted(tools)


def test_a_pattern_can_be_narrowed_like_any_search(seeded: Machine) -> None:
    assert found(seeded, "*_*", "--server", "filesystem") == ["filesystem:délivrer_文件", "filesystem:read_file"]
    assert found(seeded, "*_*", "--domain", "github", "--category", "read") == ["github:list_repos"]
    assert found(seeded, "*_*", "--limit", "1") == ["github:create_issue"]
    assert found(seeded, "*delete*", "--all") == ["github:delete_repo"]


def test_a_pattern_that_fits_nothing_ends_like_a_search_that_finds_nothing(seeded: Machine) -> None:
    ran = seeded.run("search", "*nothing-like-this*", "--wait", "0")
    assert ran.code == 2
    assert 'No tool fits "*nothing-like-this*"' in ran.out


def test_a_pattern_that_can_not_be_read_is_refused_with_the_reason(seeded: Machine) -> None:
    ran = seeded.run("search", "/(/", "--wait", "0", "--json")
    assert ran.code == 1
    assert "the pattern can't be read" in ran.json["error"]["message"]


@pytest.mark.parametrize(
    "query", ["read a file from /etc/hosts", "/etc/hosts", "create an issue?", "A* search", "a/b*c"]
)
def test_words_stay_words(seeded: Machine, query: str) -> None:
    ran = seeded.run("search", query, "--wait", "0", "--json")
    assert ran.code in {0, 2}
    assert all(hit["relevance"] < 1 for hit in ran.json["results"])


async def test_an_agent_may_ask_by_name_too_and_a_slow_pattern_holds_nobody_up() -> None:
    servers = FakeServers(FakeServer("git", [tool(f"git_{'a' * 40}{number}") for number in range(500)]))
    async with open_gateway(settings=Settings(servers=(spec("git"),)), opener=servers) as gateway:
        await gateway.list_tools("git")
        assert len((await gateway.search_tools("git_*", limit=100)).hits) == 100
        answer = await gateway.search_tools("/(a+)+$/", limit=5)
        assert answer.hits == ()
        assert answer.note.startswith("Nothing fits")

from __future__ import annotations

import os

import pytest

from tests.cli.machine import Machine
from toolcrib.config.paths import Paths
from toolcrib.model.learnt import LearntShape
from toolcrib.storage.sqlite import SqliteCatalog


def found(machine: Machine, *arguments: str) -> list[str]:
    return [f"{hit['server']}:{hit['tool']}" for hit in machine.run("search", *arguments, "--json").json["results"]]


def test_a_search_is_narrowed_to_a_domain_and_a_category(seeded: Machine) -> None:
    creating = found(seeded, "--domain", "github", "--category", "create")

    assert creating == ["github:create_issue"]
    assert found(seeded, "make an issue", "--domain", "github.issues", "--category", "create") == creating
    assert found(seeded, "domain:github", "category:create") == creating


def test_a_list_by_filter_says_what_it_lists(seeded: Machine) -> None:
    ran = seeded.run("search", "--domain", "github", "--explain")

    assert ran.code == 0
    assert 'Search results for "domain:github"' in ran.out


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--category", "nonsense"], 1), (["--domain", "nothing.there"], 2), ([], 1)]
)
def test_a_filter_that_fits_nothing_or_does_not_exist_has_its_exit_code(
    arguments: list[str], code: int, seeded: Machine
) -> None:
    assert seeded.run("search", *arguments).code == code


def test_an_example_nobody_gave_is_marked_as_made_up(seeded: Machine) -> None:
    shown = seeded.run("inspect", "filesystem", "read_file", "--examples").out
    as_json = seeded.run("inspect", "filesystem", "read_file", "--json").json

    assert "none given by the server" in shown
    assert "Made up from the schema, may not work:" in shown
    assert as_json["examples"] == []
    assert as_json["madeUpExample"] == {"path": "README.md"}
    assert "madeUpExample" not in seeded.run("inspect", "github", "create_issue", "--json").json


def test_inspect_shows_what_was_learnt_unless_it_is_switched_off(
    seeded: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteCatalog(Paths.of(os.environ).catalog)
    [key] = [key for key, record in store.servers().items() if record.name == "filesystem"]
    [tool] = [tool for tool in store.tools(key) if tool.name == "read_file"]
    store.save_shape(LearntShape(key, "read_file", tool.fingerprint, {"type": "string"}))
    store.close()

    assert seeded.run("inspect", "filesystem:read_file", "--json").json["returns"] == "string (learnt from results)"
    monkeypatch.setenv("TOOLCRIB_LEARN_SHAPES", "false")
    assert "returns" not in seeded.run("inspect", "filesystem:read_file", "--json").json

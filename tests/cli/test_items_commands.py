"""Prompts and resources on the command line."""

from __future__ import annotations

import time

import pytest

from tests.cli.machine import Machine
from tests.gateways import read_counter
from tests.items import README, REVIEW, TABLE, library
from toolcrib.cli.asked import Asked, typed
from toolcrib.config.load import load_settings
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.storage.sqlite import SqliteCatalog
from toolcrib.workspace.workspace import offered


@pytest.fixture
def stocked(machine: Machine) -> Machine:
    """One server that was read and has a prompt, a resource and a template."""
    machine.configure(
        "discovery: {servers: {library: {command: never-started}}, toolRules: [{pattern: ['resource:db:*'], enabled: false}]}"
    )
    (spec,) = offered(load_settings())
    items = (("prompt", REVIEW), ("resource", README), ("template", TABLE))
    told = ServerReading(Identity("legacy", "2025-11-25"), (), items=items)
    catalog = SqliteCatalog(machine.paths.catalog)
    catalog.save_reading(spec.name, spec.launch_key, told, time.time())
    catalog.close()
    return machine


def test_a_servers_prompts_and_resources_are_listed_with_its_tools(stocked: Machine) -> None:
    listed = stocked.run("tools", "library")
    everything = stocked.run("tools", "library", "--all")
    as_json = stocked.run("tools", "library", "--json", "--all").json

    assert "Prompts (1):" in listed.out
    assert "✓ prompt:review" in listed.out
    assert "Resources (1):" in listed.out
    assert "templates" not in listed.out
    assert "✗ resource:db://tables/{table} (disabled)" in everything.out
    assert [(one["name"], one["kind"], one["enabled"]) for one in as_json["items"]] == [
        ("prompt:review", "prompt", True),
        ("resource:file:///work/README.md", "resource", True),
        ("resource:db://tables/{table}", "template", False),
    ]


def test_a_prompt_is_inspected_like_a_tool(stocked: Machine) -> None:
    shown = stocked.run("inspect", "library", "prompt:review")
    found = stocked.run("search", "code review", "--json").json

    assert shown.code == 0
    assert shown.out.startswith("Prompt: library:prompt:review")
    assert "change" in shown.out
    assert "toolcrib execute library prompt:review change=TEXT" in shown.out
    assert found["results"][0]["kind"] == "prompt"


def test_the_kind_narrows_a_search_on_the_command_line(stocked: Machine) -> None:
    found = stocked.run("search", "kind:resource", "--json").json

    assert [one["tool"] for one in found["results"]] == ["resource:file:///work/README.md"]


@pytest.mark.parametrize(
    ("name", "key"),
    [("resource:db://tables/{table}", "table"), ("prompt:review", "change")],
    ids=["template", "prompt"],
)
async def test_words_for_an_item_are_texts_also_where_they_look_like_numbers(name: str, key: str) -> None:
    async with read_counter(library()) as gateway:
        asked = await typed(gateway, Asked("library", name, {}, [f"{key}=7"], is_streamed=False))
        answer = await gateway.execute_tool(asked.server, asked.tool, asked.arguments)

    assert asked.arguments == {key: "7"}
    assert answer.error is None

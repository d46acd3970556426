"""What a client's profile leaves of the configuration, at every door of a shared engine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.host.shared_engine import SharedWorkshop
from tests.journeys.stdio_gateway import LineClient, eventually, line_failure
from toolcrib.cli import exits
from toolcrib.cli.main import main
from toolcrib.connector.main import is_stdio_server

PROFILES = {"work": {"servers": ["desk"]}, "looking": {"toolRules": [{"pattern": "!echo", "enabled": False}]}}


def command(shared: SharedWorkshop, *words: str) -> list[str]:
    return [*shared.command[:3], *words]


async def said(client: LineClient, meta_tool: str, **arguments: Any) -> Any:
    answer = await client.call(f"{meta_tool} {arguments}", meta_tool, **arguments)
    return json.loads(answer["result"]["content"][0]["text"])


def text_of(result: dict[str, Any]) -> str:
    assert not result.get("isError"), result
    return str(result["content"][0]["text"])


@pytest.mark.parametrize("words", [("--profile", "work"), ("--profile=work", "serve"), ("serve", "--profile", "work")])
def test_an_entry_with_a_profile_starts_as_fast_as_any(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.isatty", lambda _: False)

    assert is_stdio_server(words)


async def test_a_client_gets_what_its_profile_allows_and_another_one_gets_all(shared: SharedWorkshop) -> None:
    shared.configure({"desk": shared.scripted("desk"), "shed": shared.scripted("shed")}, profiles=PROFILES)

    async with (
        shared.lines(*command(shared, "--profile", "work")) as narrow,
        shared.lines(*command(shared, "serve")) as wide,
    ):
        greeting = str(await narrow.initialize())
        assert "shed" in str(await wide.initialize())
        assert "desk" in greeting
        assert "shed" not in greeting
        assert text_of(await wide.execute("shed", "shed", "echo", text="x")) == "x"
        assert text_of(await narrow.execute("desk", "desk", "echo", text="x")) == "x"
        refused = line_failure(await narrow.execute("refused", "shed", "echo", text="x"))
        assert refused["code"] == "SERVER_NOT_FOUND"
        listed = await said(narrow, "list_mcp_servers")
        assert [server["name"] for server in listed["servers"]] == ["desk"]
        found = await said(narrow, "search_tools", query="echo")
        assert {hit["server"] for hit in found["results"]} == {"desk"}
        assert shared.engine()
        assert await narrow.leave() == 0
        assert await wide.leave() == 0


async def test_rules_of_a_profile_hold_for_its_clients_only(shared: SharedWorkshop) -> None:
    shared.configure({"desk": shared.scripted("desk")}, profiles=PROFILES)

    async with shared.lines(*command(shared, "--profile", "looking")) as client:
        await client.initialize()
        tools = await said(client, "list_tools", server="desk")
        assert [tool["name"] for tool in tools["tools"]] == ["echo"]
        assert await client.leave() == 0


async def test_an_unknown_profile_is_a_configuration_error(shared: SharedWorkshop) -> None:
    shared.configure({}, profiles=PROFILES)

    for more in ((), ("serve", "--in-process")):
        async with shared.lines(*command(shared, "--profile", "wrok", *more)) as client:
            assert await client.process.wait() == exits.CONFIGURATION
        assert "toolcrib: --profile: there is no profile 'wrok'; did you mean 'work'?" in shared.complaints
        assert "Profiles are written in " in shared.complaints
        shared.stderr.unlink()


async def test_a_profile_that_is_removed_meanwhile_shows_nothing(shared: SharedWorkshop) -> None:
    desk = shared.scripted("desk")
    shared.configure({"desk": desk}, profiles=PROFILES, reloadInterval=0.05)

    async with shared.lines(*command(shared, "--profile", "work")) as client:
        await client.initialize()
        assert text_of(await client.execute("desk", "desk", "echo", text="x")) == "x"
        shared.configure({"desk": desk}, reloadInterval=0.05)
        await eventually(lambda: "configuration reloaded" in shared.log.read_text())

        refused = line_failure(await client.execute("refused", "desk", "echo", text="y"))
        assert refused["code"] == "SERVER_NOT_FOUND"
        assert (await said(client, "list_mcp_servers"))["servers"] == []
        assert await client.leave() == 0


def test_a_command_of_the_person_takes_no_profile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--profile", "work", "list"]) == exits.USAGE
    assert "your own commands see everything" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ("--profile", ""),
        ("--profile=",),
        ("--profile", "work", "serve", "--profile", "careful"),
        ("--profile=a", "--profile=b"),
    ],
)
def test_a_profile_that_got_lost_or_is_not_the_only_one_starts_nothing(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.isatty", lambda _: False)

    assert not is_stdio_server(words)
    assert main(list(words)) == exits.USAGE
    assert "--profile" in capsys.readouterr().err


def test_over_http_a_profile_belongs_to_a_token(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--http", "--profile", "work"]) == exits.USAGE
    assert "toolcrib token create" in capsys.readouterr().err

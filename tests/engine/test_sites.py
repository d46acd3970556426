"""Clients that stand in different places, seen through one engine, with real server processes."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from toolcrib import Caller, Gateway, load_settings
from toolcrib.engine.engine import Engine
from toolcrib.engine.open_gateway import SettingsSource, open_engine, open_workspace
from toolcrib.model.site import Site

PROGRAM = Path(__file__).parent / "programs" / "telling_server.py"


def entry(**more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(PROGRAM)], **more}


def write(path: Path, **entries: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump({"discovery": {"servers": entries}}), encoding="utf-8")
    return path


def site(folder: Path, **env: str) -> Site:
    folder.mkdir(parents=True, exist_ok=True)
    return Site({"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **env}, str(folder))


@asynccontextmanager
async def opened(config: Path, *sites: Site | None) -> AsyncIterator[tuple[Engine, list[Gateway]]]:
    """One engine, and one workspace of the same file for each site."""
    async with AsyncExitStack() as stack:
        settings = load_settings(config)
        engine = await stack.enter_async_context(open_engine(settings, read_due=False))
        sources = [SettingsSource(config, {}, settings, is_fixed=False, site=one) for one in sites]
        yield engine, [await stack.enter_async_context(open_workspace(engine, source)) for source in sources]


async def told(gateway: Gateway, server: str = "telling") -> dict[str, Any]:
    outcome = await gateway.execute_tool(server, "tell")
    assert outcome.error is None, outcome.error
    value: dict[str, Any] = outcome.value
    return value


async def test_a_server_sees_the_variables_and_the_folder_of_the_client_it_was_started_for(tmp_path: Path) -> None:
    config = write(tmp_path / "toolcrib.yaml", telling=entry(env={"TOKEN": "${MINE}"}, passEnv=["PASSED"]))
    first = site(tmp_path / "a", MINE="one", PASSED="1", LANG="first", UNNAMED="x")
    second = site(tmp_path / "b", MINE="two")

    async with opened(config, first, second) as (_, gateways):
        one, two = [await told(gateway) for gateway in gateways]

    assert (one["folder"], two["folder"]) == (str(tmp_path / "a"), str(tmp_path / "b"))
    assert [one["env"].get(name) for name in ("TOKEN", "PASSED", "LANG", "UNNAMED")] == ["one", "1", "first", None]
    assert [two["env"].get(name) for name in ("TOKEN", "PASSED", "LANG")] == ["two", None, None]
    assert one["pid"] != two["pid"]


async def test_clients_with_equal_values_in_one_folder_share_one_process(tmp_path: Path) -> None:
    config = write(tmp_path / "toolcrib.yaml", telling=entry(env={"TOKEN": "${MINE}"}))
    places = [site(tmp_path / "a", MINE="one", OTHER=str(number)) for number in range(3)]

    async with opened(config, *places) as (_, gateways):
        answers = [await told(gateway) for gateway in gateways]

    assert len({answer["pid"] for answer in answers}) == 1
    assert [answer["calls"] for answer in answers] == [1, 2, 3]


async def test_clients_share_a_process_across_folders_where_the_entry_names_one_or_says_always(tmp_path: Path) -> None:
    config = write(
        tmp_path / "toolcrib.yaml",
        with_folder=entry(cwd=str(tmp_path)),
        always=entry(share="always", env={"KIND": "always"}),
    )

    async with opened(config, site(tmp_path / "a"), site(tmp_path / "b")) as (_, gateways):
        named = [await told(gateway, "with_folder") for gateway in gateways]
        always = [await told(gateway, "always") for gateway in gateways]

    assert {answer["folder"] for answer in named} == {str(tmp_path)}
    assert {answer["folder"] for answer in always} == {os.environ["HOME"]}
    assert len({answer["pid"] for answer in named}) == len({answer["pid"] for answer in always}) == 1


async def test_without_a_site_a_server_runs_as_our_own_process_would_start_it(tmp_path: Path) -> None:
    config = write(tmp_path / "toolcrib.yaml", telling=entry(passEnv=["TOOLCRIB_HOME"]))

    async with opened(config, None) as (_, [gateway]):
        answer = await told(gateway)

    assert (answer["folder"], answer["env"]["TOOLCRIB_HOME"]) == (str(Path.cwd()), os.environ["TOOLCRIB_HOME"])


async def test_a_program_is_looked_for_on_the_path_and_from_the_folder_of_the_client(tmp_path: Path) -> None:
    for name in ("a", "b"):
        script = tmp_path / name / "bin" / "tells"
        script.parent.mkdir(parents=True)
        script.write_text(f"#!{sys.executable}\n{PROGRAM.read_text('utf-8')}", encoding="utf-8")
        script.chmod(0o755)
    config = write(
        tmp_path / "toolcrib.yaml",
        on_path={"command": "tells", "cwd": str(tmp_path)},
        from_folder={"command": "bin/tells"},
    )
    places = [site(tmp_path / name, PATH=f"{tmp_path / name / 'bin'}:{os.environ['PATH']}") for name in ("a", "b")]

    async with opened(config, *places) as (_, gateways):
        on_path = [(await told(gateway, "on_path"))["program"] for gateway in gateways]
        from_folder = [(await told(gateway, "from_folder"))["program"] for gateway in gateways]

    expected = [str(tmp_path / name / "bin" / "tells") for name in ("a", "b")]
    assert (on_path, from_folder) == (expected, expected)


async def test_a_variable_that_one_client_lacks_is_missing_for_that_client_alone(tmp_path: Path) -> None:
    config = write(tmp_path / "toolcrib.yaml", telling=entry(env={"TOKEN": "${MINE}"}))

    async with opened(config, site(tmp_path / "b"), site(tmp_path / "a", MINE="one")) as (_, [without, having]):
        refused = [await without.execute_tool("telling", "tell")]
        assert (await told(having))["env"]["TOKEN"] == "one"
        refused.append(await without.execute_tool("telling", "tell"))

    assert [one.error.code if one.error else "" for one in refused] == ["SERVER_NEEDS_CONFIGURATION"] * 2


async def test_the_discovery_service_of_a_workspace_reads_a_server_as_its_client_would(tmp_path: Path) -> None:
    config = write(tmp_path / "toolcrib.yaml", telling=entry(env={"TOKEN": "${MINE}"}))

    async with opened(config, site(tmp_path / "a", MINE="one"), site(tmp_path / "b")) as (_, [first, _second]):
        [configured] = first.settings.servers
        found = await first.discovery_service.discover_tools(configured)

        assert "tell" in [tool.tool_name for tool in found]
        assert first.is_connected("telling")


async def test_the_settings_of_a_workspace_are_read_from_where_its_client_stands(tmp_path: Path) -> None:
    home = write(tmp_path / "home.yaml")
    folder = tmp_path / "project"
    place = site(folder, TELLING_MCP_ENDPOINT="https://x.example/mcp", TOOLCRIB_CALL_TIMEOUT="7")
    write(folder / "own.yaml", telling=entry())

    async with opened(home) as (engine, _):
        source = SettingsSource(Path("own.yaml"), {}, load_settings(home), is_fixed=False, site=place)
        async with open_workspace(engine, source) as gateway:
            settings = await gateway.reload()

    assert settings.file == folder / "own.yaml"
    assert settings.call_timeout_seconds == 7
    assert [spec.launch.transport for spec in settings.servers] == ["http"]


async def test_what_one_process_wrote_and_its_secrets_stay_out_of_what_another_client_is_told(tmp_path: Path) -> None:
    config = write(tmp_path / "toolcrib.yaml", telling=entry(env={"TOKEN": "${MINE}"}))
    first, second = (site(tmp_path / "a", MINE="first-very-secret"), site(tmp_path / "a", MINE="second-very-secret"))

    async with opened(config, first, second) as (engine, [one, two]):
        await told(one)
        await told(two)
        await one.execute_tool("telling", "say", {"words": "only for the first: first-very-secret"})
        crashed = await two.execute_tool("telling", "die")
        logged = (engine.paths.logs_dir / "telling.log").read_text("utf-8")

    assert crashed.error is not None
    assert "the last words of ${TOKEN}" in crashed.error.message or "${MINE}" in crashed.error.message
    assert "only for the first" not in crashed.error.message
    assert "very-secret" not in logged + crashed.error.message


async def test_a_caller_that_can_not_be_asked_is_refused_the_same_whoever_it_is(tmp_path: Path) -> None:
    config = write(tmp_path / "toolcrib.yaml", telling=entry(share="always"))
    callers = [Caller("cursor", session="1"), Caller("code", session="2")]

    async with opened(config, site(tmp_path / "a"), site(tmp_path / "b")) as (_, gateways):
        asked = [
            (await gateway.execute_tool("telling", "ask", caller=caller)).value
            for gateway, caller in zip(gateways, callers, strict=True)
        ]

    assert asked[0] == asked[1]
    assert asked[0]["roots/list"] == {"result": {"roots": []}}
    assert asked[0]["elicitation/create"]["error"]["code"] == -32601
    assert asked[0]["sampling/createMessage"]["error"]["code"] == -32601

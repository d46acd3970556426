"""Requirements of the seed documents that no other test shows; docs/mission.md says which test shows which."""

from __future__ import annotations

import ast
import asyncio
import importlib
import importlib.metadata
import json
import os
import re
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import PROTOCOL_VERSION_META_KEY
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

from tests.fakes import FakeServer, FakeServers, spec, text, tool
from tests.server.agent_tokens import Agent, compact, count
from tests.server.everyday_tools import RESULTS, SERVERS
from toolcrib import Gateway, Settings, load_settings, open_gateway
from toolcrib.config.paths import Paths
from toolcrib.config.trust import TrustedFiles
from toolcrib.model.server import StdioLaunch
from toolcrib.server.instructions import gateway_instructions
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.protocol import build_server

ROOT = Path(__file__).resolve().parents[1]


@asynccontextmanager
async def counter(*servers: FakeServer) -> AsyncIterator[Gateway]:
    """A gateway with these servers behind it, each of which was asked for its tools."""
    settings = Settings(servers=tuple(spec(server.name) for server in servers))
    async with asyncio.timeout(30), open_gateway(settings=settings, opener=FakeServers(*servers)) as gateway:
        for server in servers:
            await gateway.list_tools(server.name)
        yield gateway


@asynccontextmanager
async def client_of(gateway: Gateway) -> AsyncIterator[Client]:
    said = gateway_instructions(gateway)
    async with Client(build_server(MetaTools(gateway), version="1", instructions=said)) as client:
        yield client


# -- the defaults


@pytest.mark.parametrize(
    ("field", "default"),
    [
        ("enabled", True),
        ("sources", ()),
        ("tool_rules", ()),
        ("cache_enabled", True),
        ("cache_ttl_seconds", 3600),
        ("tool_cache_ttl_seconds", 24 * 3600),
        ("idle_stop_seconds", 300),
        ("max_servers", 1000),
        ("max_tools_per_server", 1000),
        ("max_tools", 10_000),
    ],
)
def test_the_defaults_are_the_ones_the_seeds_name(field: str, default: object) -> None:
    assert getattr(Settings(), field) == default


# -- the five tools


async def test_the_five_tools_ask_for_the_parameters_the_seeds_name() -> None:
    async with counter() as gateway, client_of(gateway) as client:
        listed = (await client.list_tools()).tools

    asked = {one.name: (sorted(one.input_schema["properties"]), one.input_schema.get("required", [])) for one in listed}
    assert asked == {
        "list_mcp_servers": ([], []),
        "search_tools": (["limit", "query", "server"], ["query"]),
        "list_tools": (["includeDisabled", "server"], ["server"]),
        "get_tool_details": (["server", "tool"], ["server", "tool"]),
        "execute_tool": (["arguments", "server", "tool"], ["server", "tool", "arguments"]),
    }


@pytest.mark.parametrize(
    ("meta_tool", "arguments", "most"),
    [
        ("list_mcp_servers", {}, 200),
        ("search_tools", {"query": "create a github issue"}, 250),
        ("list_tools", {"server": "github"}, 300),
        ("get_tool_details", {"server": "github", "tool": "create_issue"}, 200),
        ("execute_tool", {"server": "github", "tool": "create_issue", "arguments": {"repo": "a/b", "title": "x"}}, 300),
    ],
)
async def test_an_answer_takes_no_more_tokens_than_the_seeds_allow(
    meta_tool: str, arguments: dict[str, Any], most: int
) -> None:
    servers = [FakeServer(name, tools) for name, tools in SERVERS.items()]
    servers[0].tools["create_issue"] = lambda _: text(RESULTS["create_issue"])

    async with counter(*servers) as gateway, client_of(gateway) as client:
        answer = await Agent(client, []).use(meta_tool, **arguments)

    assert count(compact({"name": meta_tool, "arguments": arguments})) + count(answer) <= most


async def test_an_execution_is_success_and_result_or_no_success_and_an_error_and_costs_hardly_more_than_they_do() -> (
    None
):
    said = RESULTS["create_issue"]
    github = FakeServer("github", SERVERS["github"], tools={"create_issue": lambda _: text(said)})
    issue = {"server": "github", "tool": "create_issue", "arguments": {"repo": "a/b", "title": "x"}}

    async with counter(github) as gateway, client_of(gateway) as client:
        agent = Agent(client, [])
        answer = await agent.use("execute_tool", **issue)
        failed = await client.call_tool("execute_tool", {**issue, "arguments": {"title": "x"}})

    assert json.loads(answer) == {"success": True, "result": json.loads(said)}
    assert count(answer) <= count(said) + 10
    assert 30 <= agent.spent <= 300
    body = json.loads(failed.content[0].text)
    assert failed.is_error
    assert (body["success"], set(body)) == (False, {"success", "error"})
    assert {key: body["error"][key] for key in ("code", "server", "tool")} == {
        "code": "TOOL_VALIDATION_ERROR",
        "server": "github",
        "tool": "create_issue",
    }
    assert "repo" in body["error"]["message"]
    assert count(failed.content[0].text) <= 100


# -- many servers, dead servers


async def test_a_hundred_servers_with_a_thousand_tools_are_listed_and_searched() -> None:
    servers = [
        FakeServer(f"shop-{number}", [tool(f"pack_box_{number}_{size}") for size in range(11)]) for number in range(100)
    ]

    async with counter(*servers) as gateway:
        assert sum(server.tool_count for server in await gateway.list_servers()) == 1_100
        assert (await gateway.search_tools("pack box 77 3")).hits[0].tool == "pack_box_77_3"


async def test_a_server_that_can_not_be_reached_is_logged_and_marked_and_the_others_work(
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = FakeServer("files", [tool("read_file")])
    settings = Settings(servers=(spec("gone"), spec("files")))

    async with asyncio.timeout(30), open_gateway(settings=settings, opener=FakeServers(files)) as gateway:
        failed = await gateway.execute_tool("gone", "anything")
        assert (failed.error.code, failed.error.server) == ("SERVER_CONNECTION_ERROR", "gone")
        assert (await gateway.execute_tool("files", "read_file")).success
        states = {server.name: server.status.state for server in await gateway.list_servers()}

    assert states == {"gone": "error", "files": "connected"}
    assert "gone: the command 'gone' was not found" in caplog.text


async def test_the_newest_revision_is_offered_first_and_the_newest_handshake_after_it() -> None:
    old = FakeServer("old", [tool("read")], era="legacy")

    async with counter(old):
        offered = dict(old.heard)

    assert offered["server/discover"]["_meta"][PROTOCOL_VERSION_META_KEY] == LATEST_MODERN_VERSION
    assert offered["initialize"]["protocolVersion"] == LATEST_HANDSHAKE_VERSION


# -- configuration


CONFIG_SCRIPT = """
import { config } from '@anygpt/config';

export default config({
  providers: { local: {} }, // none of ours
  discovery: {
    enabled: true,
    servers: [
      {
        name: 'github',
        description: 'Issues and pull requests',
        connection: { type: 'stdio', command: 'npx', args: ['-y', 'server-github'] },
      },
    ],
  },
});
"""
DISCOVERY_SCRIPT = """
export default {
  discovery: {
    sources: [{ type: 'custom', path: './my-mcp-servers.yaml' }],
    toolRules: [{ pattern: ['*delete*', '*remove*'], enabled: false, tags: ['dangerous'] }],
  },
};
"""


def trusted(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    TrustedFiles(Paths.of(os.environ).trusted_files).trust(path)
    return path


def test_servers_in_a_trusted_anygpt_config_script_are_read_as_data(tmp_path: Path) -> None:
    file = trusted(tmp_path / "anygpt.config.ts", CONFIG_SCRIPT)

    settings = load_settings()

    assert (settings.file, settings.problems) == (file, ())
    (server,) = settings.servers
    assert (server.name, server.description) == ("github", "Issues and pull requests")
    assert server.launch == StdioLaunch("npx", ("-y", "server-github"))


def test_a_trusted_discovery_script_brings_its_own_sources_and_rules(tmp_path: Path) -> None:
    file = trusted(tmp_path / ".anygpt" / "mcp-discovery.config.ts", DISCOVERY_SCRIPT)
    trusted(tmp_path / ".anygpt" / "my-mcp-servers.yaml", "servers: {wiki: {command: wiki-mcp}}")

    settings = load_settings()

    assert (settings.file, settings.problems) == (file, ())
    assert [server.name for server in settings.servers] == ["wiki"]
    assert [(rule.pattern, rule.enabled, rule.tags) for rule in settings.tool_rules] == [
        (("*delete*", "*remove*"), False, ("dangerous",))
    ]


async def test_tools_of_three_sources_are_merged_and_filtered(tmp_path: Path) -> None:
    docker, claude, own = tmp_path / "docker.json", tmp_path / "claude.json", tmp_path / "own.yaml"
    docker.write_text('{"mcpServers": {"github": {"command": "docker"}}}', encoding="utf-8")
    claude.write_text('{"mcpServers": {"files": {"command": "files-mcp"}}}', encoding="utf-8")
    own.write_text("servers: {shop: {connection: {type: stdio, command: shop-mcp}}}", encoding="utf-8")
    sources = {"docker-mcp": docker, "claude-desktop": claude, "custom": own}
    rules = [{"pattern": ["*"], "enabled": True}, {"pattern": ["*delete*", "/^destroy_/i"], "enabled": False}]
    listed = [{"type": kind, "path": str(file)} for kind, file in sources.items()]
    config = tmp_path / "given.json"
    config.write_text(json.dumps({"discovery": {"sources": listed, "toolRules": rules}}), encoding="utf-8")
    names = ("list_all", "delete_one", "Destroy_everything")
    behind = FakeServers(*(FakeServer(name, [tool(one) for one in names]) for name in ("github", "files", "shop")))

    async with asyncio.timeout(30), open_gateway(config, opener=behind) as gateway:
        for server in ("github", "files", "shop"):
            assert [shown.name for shown in await gateway.list_tools(server)] == ["list_all"]
            assert (await gateway.execute_tool(server, "delete_one")).error.code == "TOOL_DISABLED"
        found = await gateway.search_tools("delete or destroy everything", limit=20)

    assert {hit.tool for hit in found} <= {"list_all", "read_result", "get_schema"}


# -- the project


def test_tests_must_reach_ninety_percent_of_the_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    test_target = re.search(r"^test:.*\n\t(.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    assert project["tool"]["coverage"]["report"]["fail_under"] >= 90
    assert project["tool"]["coverage"]["run"]["source"] == ["toolcrib"]
    assert test_target is not None
    assert "--cov " in test_target[1]


def test_the_package_has_its_licence_its_types_and_both_commands() -> None:
    installed = importlib.metadata.distribution("toolcrib")

    assert {entry.name for entry in installed.entry_points if entry.group == "console_scripts"} == {
        "toolcrib",
        "anygpt",
    }
    assert installed.metadata["License-Expression"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert (ROOT / "src" / "toolcrib" / "py.typed").exists()


def test_every_function_of_the_package_says_what_it_takes_and_gives() -> None:
    untyped = [
        f"{file.relative_to(ROOT)}:{function.lineno} {function.name}"
        for file in (ROOT / "src").rglob("*.py")
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_typed(function)
    ]

    assert untyped == []


def _is_typed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    all_told = all(one.annotation is not None for one in named if one.arg not in {"self", "cls"})
    # Without a return type a constructor still is one.
    return all_told and (function.returns is not None or function.name == "__init__")


def test_the_commands_of_the_package_lead_to_functions_that_are_there() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]

    assert set(scripts) == {"toolcrib", "anygpt"}
    for target in scripts.values():
        module, _, name = target.partition(":")
        assert callable(getattr(importlib.import_module(module), name))


def test_the_readme_leads_to_a_page_about_every_feature_and_shows_the_commands_of_the_first_day() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    pages = {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} - {"docs/glossary.md"}
    assert {page for page in pages if page not in readme} == set()
    assert {word for word in ("adopt", "add", "search", "serve", "doctor") if f"toolcrib {word}" not in readme} == set()


def test_the_container_recipe_serves_on_standard_input_as_an_ordinary_user() -> None:
    recipe = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()

    assert {'ENTRYPOINT ["toolcrib"]', 'CMD ["serve"]', "USER toolcrib"} <= set(recipe)
    assert recipe.index("USER toolcrib") < recipe.index('ENTRYPOINT ["toolcrib"]')
    assert any("docker run -i --rm" in line for line in recipe if line.startswith("#"))

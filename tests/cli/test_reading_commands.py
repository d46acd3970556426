"""list, search, tools and inspect over a catalog that was filled before."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mcp import Client

from tests.cli.machine import BOUND_SECONDS, CONFIG, TOOLS, Machine, check_golden, rows
from tests.fakes import tool
from toolcrib import open_gateway
from toolcrib.catalog.store import GatewayRow
from toolcrib.config.load import load_settings
from toolcrib.engine.open_catalog import open_reading
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.protocol import build_server
from toolcrib.storage.sqlite import SqliteCatalog

NOT_SEARCHED = "not searched: database could not be read just now: the connection was refused\n"
COMMANDS = {
    "list.txt": ["list"],
    "list_status.txt": ["list", "--status"],
    "list_tools.txt": ["list", "--tools"],
    "list.json": ["list", "--json"],
    "search.txt": ["search", "github issue"],
    "search_explain.txt": ["search", "make a github issue quickly", "--explain"],
    "search_all.txt": ["search", "delete repository", "--all"],
    "search.json": ["search", "github issue", "--json", "--explain"],
    "tools.txt": ["tools", "github"],
    "tools_all_tags.txt": ["tools", "github", "--all", "--tags"],
    "tools_all.json": ["tools", "github", "--all", "--json"],
    "inspect.txt": ["inspect", "github", "create_issue"],
    "inspect_examples.txt": ["inspect", "github:create_issue", "--examples"],
    "inspect_disabled.txt": ["inspect", "github", "delete_repo"],
    "inspect.json": ["inspect", "github", "create_issue", "--json"],
}


@pytest.mark.parametrize(("name", "arguments"), COMMANDS.items(), ids=COMMANDS)
def test_the_answer_is_the_one_we_keep(name: str, arguments: list[str], seeded: Machine) -> None:
    ran = seeded.run(*arguments)
    assert ran.code == 0
    assert ran.err == (NOT_SEARCHED if arguments[0] == "search" else "")
    check_golden(name, ran.out)


def test_anygpt_mcp_is_the_same_program(seeded: Machine) -> None:
    code = "import sys; from toolcrib.cli.main import anygpt; sys.exit(anygpt(['mcp', 'list']))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert ran.stdout == seeded.run("list").out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["list", "--nonsense"], 1),
        (["list", "--wait", "soon"], 1),
        (["search"], 1),
        (["search", "  "], 1),
        (["search", "x" * 5000], 1),
        (["search", "file", "--limit", "0"], 1),
        (["search", "file", "--limit", "many"], 1),
        (["search", "xyzzyplugh"], 2),
        (["search", "file", "--server", "nobody"], 2),
        (["tools"], 1),
        (["tools", "nobody"], 2),
        (["inspect"], 1),
        (["inspect", "github"], 1),
        (["inspect", "nobody", "create_issue"], 2),
        (["inspect", "github", "nothing"], 2),
        (["nonsense"], 1),
        (["config"], 1),
        (["--color", "purple", "list"], 1),
    ],
)
def test_bad_input_has_its_exit_code_and_with_json_a_json_error(
    arguments: list[str], code: int, seeded: Machine
) -> None:
    assert seeded.run(*arguments).code == code
    as_json = seeded.run(*arguments, "--json")
    assert as_json.code == code
    assert set(as_json.json) & {"error", "results"}


@pytest.mark.parametrize(
    "command", [["list"], ["search", "file"], ["tools", "github"], ["inspect", "a", "b"], ["execute", "a", "b"]]
)
def test_a_configuration_that_cannot_be_used_is_exit_2(command: list[str], machine: Machine) -> None:
    machine.configure("discovery: [1, 2")
    ran = machine.run(*command)
    assert ran.code == 2
    assert "toolcrib.yaml" in ran.err
    as_json = machine.run(*command, "--json")
    assert as_json.json["error"]["code"] == "CONFIGURATION_ERROR"
    assert as_json.json["error"]["problems"][0]["file"].endswith("toolcrib.yaml")


def test_a_mistyped_query_is_understood_and_says_so_when_asked(seeded: Machine) -> None:
    ran = seeded.run("search", "githb isue", "--explain")
    assert ran.code == 0
    assert ran.out.index("github:create_issue") < ran.out.index("github:list_repos")
    assert "Understood as: github issue" in ran.out


def test_how_near_the_meanings_are_is_explained_once_a_gateway_has_learnt_the_tools(seeded: Machine) -> None:
    learn_meanings(seeded)

    assert re.search(r"Meaning: 0\.\d\d close", seeded.run("search", "github issue", "--explain").out)
    best = seeded.run("search", "github issue", "--explain", "--json").json["results"][0]
    assert best["tool"] == "create_issue"
    assert 0 < best["explanation"]["closeness"] < 1


def learn_meanings(machine: Machine) -> None:
    """What a gateway does in the background."""
    looking = open_reading(load_settings(), machine.paths)
    search = looking.workspace.search
    while search.index_next():
        pass
    while (batch := search.index.next_batch()) is not None:
        search.index.take(batch, batch.learn())
    looking.close()


def test_a_query_that_nothing_fits_is_answered_with_what_may_have_been_meant(seeded: Machine) -> None:
    ran = seeded.run("search", "xylophone zebra")
    assert ran.code == 2
    assert "No tool fits" in ran.out
    assert seeded.run("search", "xylophone zebra", "--json").json["results"] == []


def test_a_server_that_is_switched_off_is_said_to_be(seeded: Machine) -> None:
    assert seeded.run("disable", "github").code == 0
    ran = seeded.run("tools", "github")
    assert ran.code == 2
    assert "the server 'github' is disabled" in ran.err
    assert "toolcrib enable github" in ran.err


def test_a_mistyped_server_is_answered_with_the_nearest_one(seeded: Machine) -> None:
    assert "Did you mean: github?" in seeded.run("tools", "gihtub").err
    assert seeded.run("tools", "gihtub", "--json").json["error"]["nearest"] == ["github"]


@pytest.mark.parametrize("command", [["tools", "baseline"], ["inspect", "github", "send_mail"], ["warm", "baseline"]])
def test_a_name_like_no_other_is_answered_without_a_guess(command: list[str], seeded: Machine) -> None:
    ran = seeded.run(*command)
    assert ran.code == 2
    assert "Did you mean" not in ran.err
    assert "toolcrib" in ran.err.splitlines()[-1]


def test_a_mistyped_tool_is_answered_with_the_nearest_one(seeded: Machine) -> None:
    assert "Did you mean: create_issue" in seeded.run("inspect", "github", "creat_isue").err


def test_the_limit_cuts_the_results(seeded: Machine) -> None:
    assert len(seeded.run("search", "github", "--limit", "1", "--json").json["results"]) == 1


def test_disabled_tools_are_found_only_when_asked_for(seeded: Machine) -> None:
    def names(*more: str) -> list[str]:
        ran = seeded.run("search", "delete repo", "--server", "github", "--json", *more)
        return [hit["tool"] for hit in ran.json["results"]]

    assert "delete_repo" not in names()
    assert "delete_repo" in names("--all")


def test_options_of_every_command_may_stand_on_either_side_of_it(seeded: Machine) -> None:
    other = seeded.home / "other.yaml"
    other.write_text("servers: {}", "utf-8")
    before = seeded.run("--config", str(other), "list")
    assert before.out == seeded.run("list", "--config", str(other)).out
    assert "No server is configured yet" in before.out


def test_looking_with_another_configuration_leaves_the_catalog_as_it_is(seeded: Machine) -> None:
    other = seeded.home / "other.yaml"
    other.write_text("servers: {}", "utf-8")
    seeded.run("--config", str(other), "list")
    catalog = SqliteCatalog(seeded.paths.catalog)
    assert not any(record.stale for record in catalog.servers().values())
    catalog.close()


def run_unmeasured(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python without measuring coverage, which loads modules of its own."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["search", "issue"],
        ["tools", "github"],
        ["inspect", "github", "create_issue"],
        ["config", "show"],
        ["calls"],
        ["stats"],
        ["logs", "github"],
    ],
)
def test_reading_a_warm_catalog_loads_no_protocol_stack(arguments: list[str], seeded: Machine) -> None:
    code = (
        "import sys; from toolcrib.cli.main import main; code = main(sys.argv[1:]); "
        "heavy = {'mcp', 'mcp_types', 'httpx2', 'starlette', 'uvicorn', 'pydantic', 'anyio', 'asyncio', 'jsonschema', "
        "'cryptography', 'zeroconf'}; "
        "ours = {name for name in sys.modules if name.startswith(('toolcrib.upstream', 'toolcrib.peers'))}; "
        "print(sorted((heavy & set(sys.modules)) | ours), file=sys.stderr); sys.exit(code)"
    )
    ran = run_unmeasured(code, *arguments)
    assert ran.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize("arguments", [["execute", "friendly", "ping"], ["discover"]])
def test_a_command_that_starts_servers_loads_no_sdk_and_no_web_server(arguments: list[str], machine: Machine) -> None:
    machine.workshop("friendly")
    code = (
        "import sys; from toolcrib.cli.main import main; code = main(sys.argv[1:]); "
        "heavy = {'mcp', 'mcp_types', 'pydantic', 'starlette', 'uvicorn'}; "
        "print(sorted(heavy & set(sys.modules)), code, file=sys.stderr)"
    )
    assert run_unmeasured(code, *arguments).stderr.splitlines()[-1] == "[] 0"


def test_help_loads_neither_the_configuration_nor_the_catalog(machine: Machine) -> None:
    code = (
        "import sys; from toolcrib.cli.main import main\n"
        "try: main(['--help'])\n"
        "finally: print(sorted({'yaml', 'sqlite3', 'msgspec', 'toolcrib.errors'} & set(sys.modules)), file=sys.stderr)"
    )
    ran = run_unmeasured(code)
    assert ran.stderr == "[]\n"
    for command in "list search tools inspect execute calls config logs doctor discover warm serve stats trust settings completion".split():
        assert f"\n  {command} " in ran.stdout


def test_what_running_gateways_hold_is_shown_with_their_pid(seeded: Machine) -> None:
    now = time.time()
    catalog = SqliteCatalog(seeded.paths.catalog)
    keys = {record.name: key for key, record in catalog.servers().items()}
    held = {keys["github"]: "connected", keys["filesystem"]: "disconnected"}
    catalog.gateway_started(GatewayRow("alive", os.getpid(), "library", now, now))
    catalog.gateway_seen("alive", now, held)
    catalog.gateway_started(
        GatewayRow("lost", os.getpid(), "library", now - 900, now - 900, {keys["filesystem"]: "connected"})
    )
    catalog.gateway_started(GatewayRow("dead", 2**22 - 3, "library", now, now, {keys["filesystem"]: "connected"}))
    catalog.close()
    check_golden("list_held.txt", seeded.run("list").out, pid=os.getpid())
    listed = seeded.run("list", "--json").json
    assert [(server["status"], server["state"], server["pids"]) for server in listed["servers"]] == [
        ("connected", "connected", [os.getpid()]),
        ("disconnected", "ready", []),
        ("error", "error", []),
    ]
    assert [gateway["pid"] for gateway in listed["gateways"]] == [os.getpid()]


def test_who_uses_a_server_is_listed_beside_its_state(seeded: Machine) -> None:
    now = time.time()
    catalog = SqliteCatalog(seeded.paths.catalog)
    keys = {record.name: key for key, record in catalog.servers().items()}
    held = {keys["github"]: "connected", keys["filesystem"]: "connected"}
    for owner, users in (
        ("one", {"claude-code": 1, "cursor": 1}),
        ("two", {"claude-code": 1, "\x1b[2Jodd name": 1, "c" * 100: 1, "d": 1, "e": 1}),
    ):
        catalog.gateway_started(GatewayRow(owner, os.getpid(), "stdio", now, now))
        catalog.gateway_seen(owner, now, held, {keys["github"]: users})
    catalog.close()

    shown = rows(seeded.run("list").out)
    listed = {server["name"]: server["users"] for server in seeded.run("list", "--json").json["servers"]}
    assert (
        shown["github"][1]
        == f"connected (�[2Jodd name, {'c' * 39}…, claude-code \N{MULTIPLICATION SIGN}2, cursor, 2 more)"
    )
    assert shown["filesystem"][1] == "connected"
    assert listed["github"]["claude-code"] == 2
    assert (listed["filesystem"], listed["database"]) == ({}, {})


def test_a_disabled_server_is_listed_as_such_with_what_switches_it_on(seeded: Machine) -> None:
    assert seeded.run("disable", "github").code == 0
    check_golden("list_disabled.txt", seeded.run("list").out)
    github = next(server for server in seeded.run("list", "--json").json["servers"] if server["name"] == "github")
    assert (github["state"], github["toolCount"], github["enabledCount"]) == ("disabled", 3, 0)
    assert rows(seeded.run("list", "--tools").out)["github"] == [
        "- github",
        "3",
        "`toolcrib enable github` switches it on",
    ]


def test_a_server_disabled_in_the_file_of_a_client_is_listed_with_that_file(machine: Machine) -> None:
    file = machine.home / "claude.json"
    file.write_text('{"mcpServers": {"paint": {"command": "never-started", "disabled": true}}}', "utf-8")
    machine.configure(f"sources: [{{type: claude-desktop, path: {file}}}]")
    assert rows(machine.run("list").out)["paint"] == ["- paint", "disabled", "-", f"in {file}"]


@pytest.mark.parametrize("command", ["tools", "warm"])
def test_a_server_disabled_in_the_file_of_a_client_is_not_said_to_be_enabled_by_us(
    command: str, machine: Machine
) -> None:
    file = machine.home / "claude.json"
    file.write_text('{"mcpServers": {"paint": {"command": "never-started", "disabled": true}}}', "utf-8")
    machine.configure(f"sources: [{{type: claude-desktop, path: {file}}}]")
    ran = machine.run(command, "paint", "--json")
    assert ran.code == 2
    assert ran.json["error"]["message"] == f"the server 'paint' is disabled (in {file})"


def test_a_server_whose_last_reading_failed_is_marked_though_its_tools_are_known(seeded: Machine) -> None:
    seeded.fill({}, failed={"github": "it went away"})
    shown = rows(seeded.run("list").out)
    assert shown["github"] == ["✗ github", "error", "2 of 3", "it went away (just now)"]
    assert shown["filesystem"][:3] == ["· filesystem", "ready", "2"]


def test_switched_off_discovery_and_an_empty_counter_say_so(machine: Machine) -> None:
    machine.configure("discovery: {enabled: false, servers: {github: {command: x}}}")
    assert "switched off" in machine.run("list").out
    machine.configure("servers: {}")
    assert "No server is configured yet" in machine.run("list").out


def test_an_entry_left_out_is_named_beside_the_answer_unless_quiet(machine: Machine) -> None:
    machine.configure("servers: {odd: {command: 7}}")
    assert "left out: " in machine.run("list").err
    assert machine.run("-q", "list").err == ""
    assert json.loads(machine.run("list", "--json").out)["servers"] == []


def test_a_server_that_failed_is_not_waited_for_again_at_once(seeded: Machine) -> None:
    assert seeded.run("list").err == ""
    assert "Reading servers (1)" in seeded.run("tools", "database").err


def test_waiting_can_be_forbidden(machine: Machine) -> None:
    machine.configure(CONFIG)
    ran = machine.run("list", "--wait", "0")
    assert ran.code == 0
    assert ran.err == ""
    assert {row[1] for row in rows(ran.out).values()} == {"not read"}
    assert "`toolcrib warm` reads those" in ran.out
    assert "has not been read yet" in machine.run("tools", "github", "--wait", "0").err


def test_declared_and_known_tools_are_searched_though_nothing_can_be_started(seeded: Machine) -> None:
    assert len(TOOLS["github"]) == len(seeded.run("tools", "github", "--all", "--json").json["tools"])


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_terminal_that_cannot_write_our_signs_still_gets_the_answer(
    encoding: str, seeded: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    assert seeded.run_apart("tools", "filesystem").code == 0
    name = seeded.run_apart("tools", "filesystem", "--json").json["tools"][1]["name"]
    assert name == "délivrer_文件"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end differently there")
def test_a_reader_that_has_seen_enough_is_no_error(seeded: Machine) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with seeded.start("list", stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        _, err = process.communicate(timeout=BOUND_SECONDS)
    assert process.returncode == 141
    assert err == ""


def test_the_gateway_is_never_behind_its_own_counter_however_it_is_wrapped(machine: Machine, tmp_path: Path) -> None:
    wrapped = {
        "by-env": {"command": "env", "args": ["X=1", "toolcrib"]},
        "by-shell": {"command": "sh", "args": ["-c", "exec toolcrib"]},
    }
    other = {"command": "env", "args": ["X=1", "never-started"]}
    client = tmp_path / "client.json"
    client.write_text(json.dumps({"mcpServers": {f"their-{name}": entry for name, entry in wrapped.items()}}), "utf-8")
    sources = [{"type": "mcp-json", "path": str(client)}]
    machine.configure(json.dumps({"servers": {**wrapped, "other": other}, "sources": sources}))
    ran = machine.run("list", "--json", "--wait", "0")

    assert [server["name"] for server in ran.json["servers"]] == ["other"]
    for name in wrapped:
        assert f"server '{name}' of {machine.paths.config_file} is this gateway itself and is left out" in ran.err


def test_a_search_shows_ten_tools_unless_told_otherwise(machine: Machine) -> None:
    machine.configure("servers: {shop: {command: never-started}}")
    machine.fill({"shop": [tool(f"pack_box_{number}", "Pack a box.") for number in range(15)]})

    assert len(machine.run("search", "pack box", "--json").json["results"]) == 10
    assert len(machine.run("search", "pack box", "--limit", "12", "--json").json["results"]) == 12


async def ask_the_other_faces(query: str) -> tuple[list[str], list[str]]:
    """What the library finds, and what an agent is told."""
    async with open_gateway(read_due=False) as gateway:
        hits = (await gateway.search_tools(query, limit=10)).hits
        async with Client(build_server(MetaTools(gateway), instructions="")) as client:
            told = await client.call_tool("search_tools", {"query": query, "limit": 10})
    results = json.loads(told.content[0].text)["results"]
    return [f"{hit.server}:{hit.tool}" for hit in hits], [f"{hit['server']}:{hit['tool']}" for hit in results]


def test_library_command_line_and_meta_tools_find_the_same(seeded: Machine) -> None:
    by_library, by_meta_tool = asyncio.run(ask_the_other_faces("github issue"))
    shown = seeded.run("search", "github issue", "--json").json["results"]

    assert by_library == by_meta_tool == [f"{hit['server']}:{hit['tool']}" for hit in shown]
    assert by_library[0] == "github:create_issue"

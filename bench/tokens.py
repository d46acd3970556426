"""What an agent pays in tokens (o200k_base): definitions, details, searches, whole journeys, and what that saves.

    python -m bench.tokens [--json FILE]

Counted is what a model reads and writes: the definitions and instructions once, then for each call its name and
arguments and the text of the answer, all as compact JSON. The real servers are those of `make servers`.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.catalog import QUERIES, TOOLS_PER_SERVER, fill_home
from bench.report import Figure, Report, arguments, percentile
from tests.server.agent_tokens import Agent, agent_before, compact, count
from tests.server.everyday_tools import RESULTS, SERVERS
from tests.servers import launch
from toolcrib.config.load import load_settings
from toolcrib.model.server import ServerSpec, StdioLaunch
from toolcrib.storage.sqlite import SqliteCatalog

CANNED_SERVER = Path(launch.__file__).resolve().parents[1] / "server" / "canned_server.py"
MANY_SERVERS = 100
NEW_ISSUE = {"repo": "acme/shop", "title": "Crash on start", "body": "It crashes when there is no configuration file."}
REAL_QUERIES = (
    "read a file",
    "write some text to a file",
    "list what is in a folder",
    "what time is it in Tokyo",
    "convert a time to another zone",
    "show the changes since the last commit",
    "commit my work",
    "make a new branch",
    "remember that Ada works at the observatory",
    "look up what is known about a person",
    "fetch a web page",
    "add two numbers",
    "search for files by name",
    "delete an entity from the graph",
    "print the environment variables",
    "rename a file",
    "who wrote the last commits",
    "a tiny image",
    "undo what is staged",
    "run something that takes long and reports progress",
)


@contextmanager
def state() -> Iterator[tuple[Path, dict[str, str]]]:
    """An empty folder, and an environment that keeps everything of the gateway in it."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        yield Path(folder), {"TOOLCRIB_HOME": folder, "PATH": os.environ["PATH"], "HOME": folder}


def real_servers(folder: Path) -> list[ServerSpec]:
    """The third-party servers, each with something harmless to work on."""
    repository = folder / "repository"
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True, timeout=20)
    found = {
        "everything": launch.everything(),
        "filesystem": launch.filesystem(folder),
        "memory": launch.memory(folder / "graph.jsonl"),
        "time": launch.time(),
        "git": launch.git(repository),
        "fetch": launch.fetch(),
    }
    return [ServerSpec(name, StdioLaunch(one.command, one.args, one.env)) for name, one in found.items()]


def everyday_servers(folder: Path) -> list[ServerSpec]:
    specs = []
    for name, tools in SERVERS.items():
        file = folder / f"{name}.json"
        file.write_text(json.dumps({"tools": tools, "results": RESULTS}), encoding="utf-8")
        specs.append(ServerSpec(name, StdioLaunch(sys.executable, ("-I", "-S", str(CANNED_SERVER), str(file)))))
    return specs


async def search_sizes(agent: Agent, queries: Sequence[str]) -> list[int]:
    return [count(await agent.use("search_tools", query=query)) for query in queries]


async def details_size(agent: Agent, server: str) -> list[int]:
    names = [tool["name"] for tool in json.loads(await agent.use("list_tools", server=server))["tools"]]
    return [count(await agent.use("get_tool_details", server=server, tool=name)) for name in names]


def add_searches(report: Report, where: str, sizes: Sequence[int]) -> None:
    note = f"{min(sizes)} to {max(sizes)}, 90 % under {percentile(sizes, 0.9):.0f}"
    report.add(Figure(f"default search answer, median, {where}", statistics.median(sizes), "tokens", 200, note=note))


async def measure_real(report: Report) -> None:
    with state() as (folder, env):
        specs = real_servers(folder)
        async with agent_before(specs, env) as agent:
            sizes = await search_sizes(agent, REAL_QUERIES)
            opening, definitions = agent.opening, agent.definitions
            details = [await details_size(agent, spec.name) for spec in specs]
        catalog = SqliteCatalog(folder / "catalogue.db")
        tools = catalog.all_tools()
        catalog.close()
    everything = count(compact([tool.definition for tool in tools]))
    report.add(Figure("five definitions as clients get them, with their hints", definitions, "tokens", 599))
    report.add(Figure("five definitions and instructions, real servers", opening, "tokens", 599, 450))
    add_searches(report, f"{len(tools)} tools of real servers", sizes)
    flat = [size for of_server in details for size in of_server]
    note = f"{min(flat)} to {max(flat)}, 90 % under {percentile(flat, 0.9):.0f}"
    report.add(
        Figure(f"details of a tool, median of {len(flat)} real ones", statistics.median(flat), "tokens", note=note)
    )
    report.add(Figure(f"all {len(tools)} definitions of the {len(specs)} real servers", everything, "tokens"))
    report.add(Figure("saved at the start, real servers", 100 * (1 - opening / everything), "%"))


async def measure_many(report: Report) -> None:
    with state() as (folder, env):
        specs = load_settings(fill_home(folder, MANY_SERVERS), env=env).servers
        async with agent_before(specs, env) as agent:
            sizes = await search_sizes(agent, QUERIES)
            listed = count(await agent.use("list_mcp_servers"))
            report.add(Figure(f"list_mcp_servers, {MANY_SERVERS} servers", listed, "tokens", 600))
            report.add(
                Figure(f"five definitions and instructions, {MANY_SERVERS} servers", agent.opening, "tokens", 599)
            )
    add_searches(report, f"{MANY_SERVERS * TOOLS_PER_SERVER} made-up tools", sizes)


async def measure_journeys(report: Report) -> None:
    with state() as (folder, env):
        specs = everyday_servers(folder)
        async with agent_before(specs, env) as agent:
            details = json.loads(await agent.use("get_tool_details", server="github", tool="create_issue"))
        report.add(Figure("details of a tool with three short parameters", _without_extras(details), "tokens", 99))
        async with agent_before(specs, env) as agent:
            await agent.find_read_and_run("github issue create", "github", "create_issue", NEW_ISSUE)
            report.add(Figure("journey with one tool", agent.spent, "tokens", 950))
        async with agent_before(specs, env) as agent:
            await agent.find_read_and_run("read file", "filesystem", "read_file", {"path": "README.md"})
            await agent.find_read_and_run("create github issue", "github", "create_issue", NEW_ISSUE)
            report.add(Figure("journey with two tools", agent.spent, "tokens", 1_600))


def _without_extras(details: dict[str, Any]) -> int:
    return count(compact({name: value for name, value in details.items() if name not in {"examples", "returns"}}))


def main() -> int:
    options = arguments(__doc__).parse_args()
    report = Report("tokens: o200k_base")
    asyncio.run(measure_real(report))
    asyncio.run(measure_many(report))
    asyncio.run(measure_journeys(report))
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

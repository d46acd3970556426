"""The protocol's own conformance suites, run against both faces of the gateway: as a server, and as a client.

What is expected to fail is in `expected.yml`, each with its reason; an entry that passes fails the test too.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import metadata
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from tests.conformance.adapter import SERVER, Adapter
from tests.conformance.scenarios import PROBE_SECONDS, client_under_test
from tests.conformance.suite import NEW, OLD, RUNS, Outcome, Run, expectations, scored_scenarios
from tests.protocol_page import rows_differ
from tests.servers.launch import Launch
from tests.servers.listening import free_port, listening
from tests.upstream.http_servers import serve
from toolcrib import MCPDiscoveryServer, open_gateway
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.gateway import Gateway
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.storage.sqlite import SqliteCatalog

pytestmark = pytest.mark.timeout(180)

Suite = Callable[[str], Launch]
Everything = Callable[[int], Launch]
ROOT = Path(__file__).resolve().parents[2]
CLIENT = Path(__file__).with_name("client.py")
READY_SECONDS = 60.0


@asynccontextmanager
async def gateway_before(url: str, folder: Path, revision: str) -> AsyncIterator[Gateway]:
    """A gateway whose one server is met in the revision that the suite is about."""
    config = folder / "toolcrib.json"
    servers = {SERVER: {"type": "http", "url": url}}
    settings = {"servers": servers, "sampling": "allow", "results": "passthrough", "probeTimeout": PROBE_SECONDS}
    config.write_text(json.dumps({"discovery": settings}), encoding="utf-8")
    if revision == OLD:
        _remember_as_old(config)
    async with open_gateway(config) as gateway:
        assert await gateway.ready(READY_SECONDS)
        yield gateway


def _remember_as_old(config: Path) -> None:
    """The server speaks both revisions; one that was met in the older is not asked for the newer again."""
    spec = load_settings(config, env=os.environ).servers[0]
    paths = Paths.of(os.environ)
    paths.catalog.parent.mkdir(parents=True, exist_ok=True)
    catalog = SqliteCatalog(paths.catalog)
    catalog.save_reading(spec.name, spec.launch_key, ServerReading(Identity("legacy", OLD), ()), read_at=0.0)
    catalog.close()


@asynccontextmanager
async def looking_at(app: ASGIApp, suite: Launch, version: str, revision: str, folder: Path) -> AsyncIterator[Run]:
    async with serve(app) as address:
        url = f"{address.replace('127.0.0.1', 'localhost')}/mcp"
        yield Run(suite, "server", version, revision, folder / "results", ("--url", url))


@pytest.mark.parametrize(("version", "revision"), [("0.1", OLD), ("0.2", NEW)])
async def test_conformance_of_the_five_tools_as_they_are(
    tmp_path: Path, conformance_suite: Suite, version: str, revision: str
) -> None:
    """Most scenarios call a tool by its name, which only the server behind a gateway has; the others are about us."""
    suite, name = conformance_suite(version), f"server {revision}, the five tools"
    async with (
        open_gateway(env=os.environ) as gateway,
        MCPDiscoveryServer(gateway).asgi_app(token=None) as app,
        looking_at(app, suite, version, revision, tmp_path) as run,
    ):
        outcome = await run.outcome(name)

    assert outcome.surprises(name) == []


@pytest.mark.parametrize(("version", "revision"), RUNS)
async def test_conformance_of_a_server_behind_the_gateway(
    tmp_path: Path,
    unmeasured_environment: dict[str, str],
    conformance_suite: Suite,
    sdk_everything_server: Everything,
    version: str,
    revision: str,
) -> None:
    suite, name = conformance_suite(version), f"server {revision}, suite {version}"
    port = free_port()
    async with (
        listening(sdk_everything_server(port), port, unmeasured_environment),
        gateway_before(f"http://127.0.0.1:{port}/mcp", tmp_path, revision) as gateway,
        MCPDiscoveryServer(gateway).asgi_app(token=None) as app,
        looking_at(Adapter(app, gateway), suite, version, revision, tmp_path) as run,
    ):
        outcome = await run.outcome(name)

    assert outcome.surprises(name) == []
    assert rows_differ("conformance", [outcome.row(name, scored_scenarios(suite, "server", revision))]) == []


@pytest.mark.parametrize(("version", "revision"), RUNS)
async def test_conformance_of_the_gateway_as_a_client(
    tmp_path: Path, conformance_suite: Suite, version: str, revision: str
) -> None:
    suite, name = conformance_suite(version), f"client {revision}, suite {version}"
    async with client_under_test(tmp_path / "homes") as port:
        target = ("--command", f"{sys.executable} -I -S {CLIENT} {port}", "--timeout", "60000")
        outcome = await Run(suite, "client", version, revision, tmp_path / "results", target).outcome(name)

    assert outcome.surprises(name) == []
    assert rows_differ("conformance", [outcome.row(name, scored_scenarios(suite, "client", revision))]) == []


def test_the_server_of_the_conformance_tests_is_of_the_sdk_that_runs_it() -> None:
    wanted = (ROOT / "tests" / "servers" / "sdk-source.txt").read_text(encoding="utf-8").split()

    assert wanted == [f"mcp=={metadata.version('mcp')}"]


def test_an_entry_that_does_not_fail_any_more_is_a_surprise_like_a_failure_that_is_not_listed() -> None:
    suite = "client 2025-11-25, suite 0.2"
    known = dict.fromkeys(expectations(suite), ("a check",))
    gone = "auth/dpop"

    assert Outcome(known).surprises(suite) == []
    assert Outcome({**known, "ping": ("ping",)}).surprises(suite) == ["ping fails: ping"]
    assert Outcome({**known, gone: ()}).surprises(suite) == [
        f"{gone} does not fail any more: remove it from expected.yml"
    ]

"""Whatever breaks behind the library, what leaves it is a ToolcribError; each public method is a door in a table here."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import os
import shutil
import sqlite3
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from keyring.errors import KeyringError

from tests.fakes import FakeServer, FakeServers, spec, tool
from toolcrib import (
    Caller,
    DiscoveryOptions,
    Gateway,
    MCPDiscoveryProvider,
    MCPDiscoveryServer,
    MCPDiscoveryService,
    MCPServerConfig,
    RemoteMcpEngine,
    RetryPolicy,
    Settings,
    ToolContract,
    ToolcribError,
    contract_engine,
    load_settings,
    open_discovery,
    open_gateway,
    validate_config,
)
from toolcrib.model.call import TaskRequest, ToolCall
from toolcrib.model.server import RemoteLaunch, StdioLaunch
from toolcrib.storage import sqlite_file

if sys.platform != "win32":
    import pwd
    import resource

SECONDS = 0.2
ONCE = DiscoveryOptions(retry_policy=RetryPolicy(max_retries=0))
EVERYTHING = replace(
    ONCE, register_in_marketplace=True, export_to_rtfs=True, use_cache=True, create_approval_request=True
)

Door = Callable[[Any, str], Any]


def server(text: str) -> MCPServerConfig:
    return MCPServerConfig(text, StdioLaunch("fake", (text,), env={"A": text}))


def remote(text: str) -> MCPServerConfig:
    return MCPServerConfig(text, RemoteLaunch(text, {"X-Text": text}))


async def _drained(events: AsyncIterator[object]) -> None:
    async for _ in events:
        pass


async def _capabilities(service: MCPDiscoveryService, text: str) -> None:
    for found in await service.discover_tools(spec("files"), ONCE):
        await service.register_capability(service.tool_to_manifest(found, server(text)))


def _call(text: str) -> ToolCall:
    return ToolCall("files", text, {text: text}, b"{}", Caller(text))


GATEWAY: Mapping[str, Door] = {
    "all_tools": lambda gateway, _: gateway.all_tools(include_disabled=True),
    "complete": lambda gateway, text: gateway.complete(text, text, text, text),
    "connect": lambda gateway, text: gateway.connect(text),
    "disconnect": lambda gateway, text: gateway.disconnect(text),
    "discovery_service": lambda gateway, _: gateway.discovery_service,
    "execute": lambda gateway, text: gateway.execute(_call(text)),
    "execute_task": lambda gateway, text: gateway.execute_task(_call(text).but(task=TaskRequest("tasks/get", text))),
    "execute_stream": lambda gateway, text: _drained(gateway.execute_stream("files", "read", {text: text})),
    "execute_tool": lambda gateway, text: gateway.execute_tool(text, text, {text: text}, caller=Caller(text)),
    "failure": lambda gateway, text: gateway.failure(text),
    "findings": lambda gateway, text: gateway.findings(text),
    "first_reading": lambda gateway, _: gateway.first_reading(),
    "get_tool_details": lambda gateway, text: gateway.get_tool_details(text, text),
    "give_up_reading": lambda gateway, text: gateway.give_up_reading(text, SECONDS),
    "introspect_output": lambda gateway, text: gateway.introspect_output("files", text),
    "invalidate": lambda gateway, text: gateway.invalidate(text),
    "is_connected": lambda gateway, text: gateway.is_connected(text),
    "keep_result": lambda gateway, text: gateway.keep_result(Caller(text, key=text), b"x" * 100),
    "knows": lambda gateway, text: gateway.knows(text),
    "launch_key": lambda gateway, text: gateway.launch_key(text),
    "learn_tools": lambda gateway, _: gateway.learn_tools(SECONDS),
    "list_items": lambda gateway, text: gateway.list_items("prompt", server=text),
    "list_servers": lambda gateway, _: gateway.list_servers(),
    "list_tools": lambda gateway, text: gateway.list_tools(text, include_disabled=True),
    "meant": lambda gateway, text: gateway.meant("toolcrib", "read_resource", {"server": text, "uri": text}),
    "missing": lambda gateway, text: gateway.missing(text, text),
    "read_server": lambda gateway, text: gateway.read_server(text),
    "ready": lambda gateway, _: gateway.ready(SECONDS),
    "subscribe": lambda gateway, text: gateway.subscribe(text, text, lambda _: None),
    "run_meant": lambda gateway, text: gateway.run_meant(_call(text)),
    "reload": lambda gateway, _: gateway.reload(),
    "rights": lambda gateway, text: gateway.rights(text),
    "roots_changed": lambda gateway, text: gateway.roots_changed(text),
    "search_tools": lambda gateway, text: gateway.search_tools(text, server=text, domain=text, category=text),
    "settings": lambda gateway, _: gateway.settings,
    "workspace": lambda gateway, _: gateway.workspace,
    "topics": lambda gateway, text: gateway.topics([text], 3),
    "trouble": lambda gateway, text: gateway.trouble(text),
}
SERVICE: Mapping[str, Door] = {
    "discover_from_registry": lambda service, text: service.discover_from_registry(text, EVERYTHING),
    "discover_prompts": lambda service, text: service.discover_prompts(server(text), ONCE),
    "discover_resources": lambda service, text: service.discover_resources(remote(text), ONCE),
    "discover_servers": lambda service, text: service.discover_servers([server(text), spec("files")], ONCE),
    "discover_tools": lambda service, text: service.discover_tools(
        spec("files"), replace(EVERYTHING, export_directory=text or None)
    ),
    "find_servers_for_capability": lambda service, text: service.find_servers_for_capability(text, ONCE),
    "identity": lambda service, text: service.identity(server(text)),
    "options": lambda service, _: service.options,
    "read_unapproved": lambda service, text: service.read_unapproved(remote(text), ONCE),
    "register_capability": _capabilities,
    "resource_to_manifest": lambda service, text: service.resource_to_manifest({"uri": text}, server(text)),
    "search_registry_for_capability": lambda service, text: service.search_registry_for_capability(text),
    "tool_to_manifest": _capabilities,
    "warm_cache_for_all_configured_servers": lambda service, _: service.warm_cache_for_all_configured_servers(ONCE),
    "warm_cache_for_servers": lambda service, text: service.warm_cache_for_servers([remote(text)], ONCE),
    "with_auth_headers": lambda service, text: service.with_auth_headers({"X": text}).discover_tools(
        remote(text), ONCE
    ),
    "with_catalog": lambda service, _: service.with_catalog(service),
    "with_marketplace": lambda service, _: service.with_marketplace(service),
}
CONTRACTS: Mapping[str, Door] = {
    "execute": lambda engine, text: engine.execute(ToolContract(text, {"address": text}), {text: text}),
    "name": lambda engine, _: engine.name,
}
PROVIDER: Mapping[str, Door] = {
    "discover_capabilities": lambda provider, _: provider.discover_capabilities(),
    "discover_tools": lambda provider, _: provider.discover_tools(),
}


@pytest.fixture(autouse=True)
def _no_log() -> Iterator[None]:
    """Log lines quote the odd texts, and what runs the tests in parallel can't pass all of them on."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


async def foreign(door: Door, behind: Any, text: str) -> str | None:
    """What left a door and should not have."""
    try:
        given = door(behind, text)
        if inspect.isawaitable(given):
            async with asyncio.timeout(20):
                await given
    except ToolcribError:
        return None
    except Exception as error:  # noqa: BLE001 - that is the question
        return ascii(error) + "".join(traceback.format_tb(error.__traceback__)[-1:])
    return None


async def leaks(gateway: Gateway, text: str = "files") -> dict[str, str]:
    """Whatever leaves any door of the gateway, its discovery service, a provider for one server and an engine of contracts."""
    service = gateway.discovery_service
    provider = MCPDiscoveryProvider(service, server(text), auth_headers={"X": text}, options=ONCE)
    found = {}
    for doors, behind in (
        (GATEWAY, gateway),
        (SERVICE, service),
        (PROVIDER, provider),
        (CONTRACTS, contract_engine(gateway)),
    ):
        for name, door in doors.items():
            if (error := await foreign(door, behind, text)) is not None:
                found[name] = error
    return found


def _public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def test_every_public_method_has_its_door_here() -> None:
    assert _public(Gateway) == set(GATEWAY)
    assert _public(MCPDiscoveryService) == set(SERVICE)
    assert _public(MCPDiscoveryProvider) == set(PROVIDER)
    assert _public(RemoteMcpEngine) == set(CONTRACTS)
    # What it serves is asked by the tests of stdio and HTTP, with thousands of odd messages.
    assert _public(MCPDiscoveryServer) == {"run_stdio", "asgi_app"}


# -- odd arguments, all of the types that the signatures name

ODD_TEXTS = {
    "nothing": "",
    "half a surrogate pair": "\ud800",
    "a byte that is no UTF-8": "\udcff",
    "NUL": "a\0b",
    "very long": "a" * 5_000,
    "the built-in server": "toolcrib",
    "an id": "files:read",
    "a path": "../../../etc/passwd",
    "an address that can't be parsed": "http://[::1",
    "an address of no machine": "https://\ud800.invalid/",
    "a port that is none": "http://127.0.0.1:99999999/",
    "a pattern": "/(/",
    "filters": "domain: category:",
    "direction": "\u202e",
    "an unset variable": "${NOT_SET_ANYWHERE}",
    "an unknown home": "~nobody-of-that-name/x",
}


@asynccontextmanager
async def one_server(*more: FakeServer, **settings: Any) -> AsyncIterator[Gateway]:
    """A gateway in front of `files`, read and used once; everything that is kept on disk has been written."""
    servers = FakeServers(FakeServer("files", [tool("read"), tool("list", annotations={"readOnlyHint": True})]), *more)
    chosen = Settings(servers=(spec("files"),), max_retries=0, **settings)
    async with open_gateway(settings=chosen, opener=servers) as gateway:
        assert await gateway.ready(20)
        assert (await gateway.execute_tool("files", "read", {})).success
        await _capabilities(gateway.discovery_service, "files")
        yield gateway


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
async def test_no_text_makes_a_foreign_exception(text: str) -> None:
    async with one_server(registry_urls=("http://127.0.0.1:1",), registry_mirror=False) as gateway:
        assert await leaks(gateway, text) == {}


@hypothesis_settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.characters(exclude_categories=()), max_size=40),
    number=st.integers() | st.floats(),
    arguments=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    ),
)
def test_no_argument_of_the_five_questions_makes_a_foreign_exception(text: str, number: float, arguments: Any) -> None:
    async def ask() -> None:
        async with one_server() as gateway:
            limit = int(number) if math.isfinite(number) else None
            questions: list[Door] = [
                lambda gateway, text: gateway.search_tools(text, limit=limit),
                lambda gateway, text: gateway.list_tools(text),
                lambda gateway, text: gateway.get_tool_details("files", text),
                lambda gateway, text: gateway.execute_tool("files", "read", {text: arguments}),
                lambda gateway, text: gateway.execute_tool(
                    "toolcrib", "read_result", {"handle": text, "offset": number, "grep": text, "pointer": arguments}
                ),
                lambda gateway, text: gateway.execute_tool(
                    "toolcrib", "get_schema", {"server": text, "tool": arguments}
                ),
                lambda gateway, _: gateway.ready(min(number, SECONDS)),
            ]
            assert [error for ask in questions if (error := await foreign(ask, gateway, text))] == []

    asyncio.run(ask())


# -- what is kept on disk

State = Callable[[Path], AbstractContextManager[None] | None]


def _gone(home: Path) -> None:
    while home.exists():  # the gateway may be writing there at this moment
        shutil.rmtree(home, ignore_errors=True)


def _a_file(home: Path) -> None:
    _gone(home)
    home.write_text("not a folder", encoding="utf-8")


def _noise(home: Path) -> None:
    for file in _files(home):
        file.write_bytes(b"\xff\xfe\0 noise" * 2_000)


def _folders(home: Path) -> None:
    for file in _files(home):
        file.unlink(missing_ok=True)
        file.mkdir()


def _files(home: Path) -> list[Path]:
    """The files that are there; what is just being written under another name comes later."""
    return [file for file in home.rglob("*") if file.is_file() and file.suffix not in (".new", ".part")]


def _databases(home: Path) -> Iterator[sqlite3.Connection]:
    for file in home.rglob("*.db"):
        database = sqlite3.connect(file)
        try:
            yield database
        finally:
            database.close()


def _tables(database: sqlite3.Connection) -> list[str]:
    found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    return [name for (name,) in found]


def _without_tables(home: Path) -> None:
    for database in _databases(home):
        for table in _tables(database):
            database.execute(f'DROP TABLE "{table}"')
        database.commit()


def _other_types(home: Path) -> None:
    for database in _databases(home):
        database.execute("PRAGMA ignore_check_constraints = ON")
        for table in _tables(database):
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")') if not row[5]]
            for column in columns:
                database.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = x\'ff00\'')
        database.commit()


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    held = [database for file in home.rglob("*.db") if (database := sqlite3.connect(file, isolation_level=None))]
    for database in held:
        database.execute("BEGIN IMMEDIATE")
    yield
    for database in held:
        database.close()


@contextmanager
def _read_only(home: Path) -> Iterator[None]:
    # Bites only for an ordinary user: root may write anyway.
    folders = [home, *(folder for folder in home.rglob("*") if folder.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    yield
    for folder in folders:
        folder.chmod(0o700)


@contextmanager
def _full(_: Path) -> Iterator[None]:
    """No file can grow, which is what a full disk means to SQLite and to us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


STATES: dict[str, State] = {
    "gone": _gone,
    "a file": _a_file,
    "full of noise": _noise,
    "full of folders": _folders,
    "without tables": _without_tables,
    "full of values of another type": _other_types,
    "locked": _locked,
    "read-only": _read_only,
}
if sys.platform != "win32":
    STATES["on a full disk"] = _full


@pytest.mark.parametrize("break_it", STATES.values(), ids=STATES)
async def test_no_broken_state_folder_makes_a_foreign_exception(
    break_it: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.05)
    home = Path(os.environ["TOOLCRIB_HOME"])

    async with one_server() as gateway:
        with break_it(home) or nullcontext():
            assert await leaks(gateway) == {}
            assert await leaks(gateway, "web") == {}
    async with open_gateway(settings=Settings(servers=(spec("files"),)), opener=FakeServers(FakeServer())) as gateway:
        assert await leaks(gateway) == {}


# -- servers, and the programs around us

FOREIGN = [
    OSError(5, "input/output error"),
    ValueError("odd"),
    RuntimeError("odd"),
    RecursionError("too deep"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    httpx2.ReadError("cut"),
    httpx2.InvalidURL("odd"),
    msgspec.DecodeError("odd"),
    KeyringError("locked"),
    KeyError("missing"),
    EOFError(),
    ExceptionGroup("several", [ValueError("odd")]),
]


@asynccontextmanager
async def odd_servers(*servers: FakeServer) -> AsyncIterator[Gateway]:
    settings = Settings(servers=tuple(spec(odd.name) for odd in servers), max_retries=0)
    async with open_gateway(settings=settings, opener=FakeServers(*servers)) as gateway:
        yield gateway


async def leaks_of_each(gateway: Gateway, names: Sequence[str]) -> dict[tuple[str, str], str]:
    """What leaves the doors through which a server is reached, for each server at once."""
    service = gateway.discovery_service
    doors: dict[str, tuple[Door, object]] = {
        "connect": (GATEWAY["connect"], gateway),
        "list_tools": (GATEWAY["list_tools"], gateway),
        "search_tools": (lambda gateway, name: gateway.search_tools("read a file", server=name), gateway),
        "get_tool_details": (lambda gateway, name: gateway.get_tool_details(name, "read"), gateway),
        "execute_tool": (lambda gateway, name: gateway.execute_tool(name, "read", {"x": 1}), gateway),
        "discover_tools": (lambda service, name: service.discover_tools(spec(name), EVERYTHING), service),
        "discover_resources": (lambda service, name: service.discover_resources(spec(name), ONCE), service),
    }

    async def knock(name: str) -> dict[tuple[str, str], str]:
        found = {}
        for title, (door, behind) in doors.items():
            if (error := await foreign(door, behind, name)) is not None:
                found[name, title] = error
        return found

    return {key: error for found in await asyncio.gather(*map(knock, names)) for key, error in found.items()}


async def test_what_a_transport_raises_does_not_leave_the_library() -> None:
    def refusing(number: int, error: Exception) -> FakeServer:
        async def refuse() -> None:
            raise error

        return FakeServer(f"{type(error).__name__}-{number}", [tool("read")], on_open=refuse)

    servers = [refusing(number, error) for number, error in enumerate(FOREIGN)]
    async with odd_servers(*servers) as gateway:
        assert await leaks_of_each(gateway, [odd.name for odd in servers]) == {}


def _nested(depth: int) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for _ in range(depth):
        nested = {"properties": nested}
    return nested


ODD_ANSWERS: list[Any] = [
    *(5, "x", None, [], {}, {"tools": 5}, {"tools": [5]}, {"tools": [{}]}, {"tools": [{"name": 5}]}),
    {"tools": [{"name": "\ud800", "description": "\udfff"}]},
    {"tools": [{"name": "read", "inputSchema": 5, "description": 5, "annotations": 5, "title": {}}]},
    {"tools": [{"name": "read", "inputSchema": _nested(500)}]},
    {"tools": [{"name": "read", "inputSchema": {"type": ["x", 5], "properties": [], "required": 5, "pattern": "("}}]},
    {"tools": [{"name": "read", "inputSchema": {"properties": {"x": {"$ref": "#/properties/x"}}}}]},
    {"tools": [{"name": "read"}], "nextCursor": 5, "ttlMs": "soon"},
    {"content": 5, "structuredContent": 5, "isError": "maybe"},
    {"content": [5, {"type": 5}, {"type": "text", "text": 5}], "resultType": 5},
]
EVERY_LIST = {"tools": {}, "resources": {}, "prompts": {}}


@pytest.mark.parametrize("method", ["tools/list", "tools/call", "server/discover", "resources/list"])
async def test_no_answer_of_a_server_makes_a_foreign_exception(method: str) -> None:
    def answering(number: int, answer: Any) -> FakeServer:
        answers = {method: lambda _: answer}
        return FakeServer(f"odd-{number}", [tool("read")], capabilities=EVERY_LIST, methods=answers)

    servers = [answering(number, answer) for number, answer in enumerate(ODD_ANSWERS)]
    async with odd_servers(*servers) as gateway:
        assert await leaks_of_each(gateway, [odd.name for odd in servers]) == {}


async def test_no_launch_makes_a_foreign_exception() -> None:
    """With our own transports: no process of any of these names, and nothing listens there."""
    odd = [*ODD_TEXTS.values(), "http://127.0.0.1:1/", "http://127.0.0.1:1/\n", "${keyring:none}", "${file:/etc}"]
    launches = [RemoteLaunch(text, {}, transport) for text in odd for transport in ("http", "sse")]
    launches += [RemoteLaunch("http://127.0.0.1:1/", {"X": text, text: "x"}) for text in odd]
    launches += [StdioLaunch(text) for text in odd]
    launches += [StdioLaunch("true", (text,), {text: text}) for text in odd]
    launches += [StdioLaunch("true", cwd=text, env_file=text) for text in odd]

    async with open_discovery(settings=Settings()) as service:
        found = await asyncio.gather(
            *(foreign(lambda service, _, at=at: service.discover_tools(MCPServerConfig("odd", at), ONCE), service, "")
              for at in launches)
        )  # fmt: skip

    assert [pair for pair in zip(launches, found, strict=True) if pair[1] is not None] == []


# -- configuration

ODD_FILES = {
    "noise.yaml": bytes(range(256)),
    "nul.yaml": b"a: \0",
    "deep.json": b"[" * 100_000,
    "deep.yaml": b"- " * 5_000 + b"x",
    "deep.toml": b"a = " + b"[" * 5_000,
    "deep.ts": b"export default " + b"[" * 20_000,
    "deep.xml": b"<a>" * 10_000,
    "huge_number.json": b'{"discovery": {"callTimeout": ' + b"9" * 6_000 + b"}}",
    "huge_number.yaml": b"discovery: {callTimeout: " + b"9" * 6_000 + b"}",
    "no_number.yaml": b"discovery: {callTimeout: .nan, cache: {ttl: .inf}}",
    "no_date.yaml": b"discovery: {callTimeout: 2024-99-99}",
    "utf16.json": '{"discovery": {}}'.encode("utf-16"),
    "surrogates.json": b'{"discovery": {"servers": {"\\ud800": {"command": "\\ud800", "env": {"\\ud800": "\\udfff"}}}}}',
    "surrogates.toml": b'a = "\\ud800"',
    "itself.yaml": b"discovery: &a {servers: *a, toolRules: *a, sources: *a}",
    "bomb.yaml": b"a: &a [x, x, x, x, x, x, x, x, x]\n"
    + b"".join(b"%c: &%c [%b]\n" % (n + 1, n + 1, b", ".join([b"*%c" % n] * 9)) for n in range(97, 109)),
    "keys.yaml": b"discovery: {[a, b]: 1, {a: b}: 2, ? null : 3, 5: 6}",
    "rules.yaml": b'discovery: {toolRules: [{pattern: "/(/"}, {pattern: ["!", "[", "{a,b"]}, 5, null, {server: "["}]}',
    "servers.yaml": b'discovery: {servers: {a: {command: "\\0"}, b: {url: "http://[::1"}, d: 5, e: null, "": {command: x},'
    b' g: {command: "~nobody-of-that-name/x", cwd: "~nobody-of-that-name", envFile: /dev/zero}}}',
    "sources.yaml": b'discovery: {sources: [{type: mcp-json, path: "~nobody-of-that-name"}, {path: "\\0"}, 5, "~", null]}',
    "registry.yaml": b'discovery: {registry: {urls: ["http://[::1", "x", "\\0", 5]}}',
    "introspection.yaml": b'discovery: {introspection: {"a:b": [[[]]], 5: {x: 2024-01-01}}}',
}


async def _opened(config: str | Path | None, env: Mapping[str, str] | None = None) -> None:
    async with open_gateway(config, env=env) as gateway:
        await gateway.search_tools("time")
        await gateway.execute_tool("a", "b", {})
        gateway.keep_result(Caller("library"), b"x")


@pytest.mark.parametrize("name", ODD_FILES)
async def test_no_configuration_file_makes_a_foreign_exception(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(ODD_FILES[name])

    doors: list[Door] = [
        lambda path, _: load_settings(path),
        lambda path, _: validate_config(path),
        lambda p, _: _opened(p),
    ]
    assert [await foreign(door, path, "") for door in doors] == [None] * 3


ODD_PATHS = {
    "nothing": "",
    "NUL": "a\0b",
    "half a surrogate pair": "\ud800",
    "a byte that is no UTF-8": "\udcff",
    "an unknown home": "~nobody-of-that-name/x",
    "a home": "~",
    "very long": "a" * 5_000,
    "a folder": "/",
    "a device": os.devnull,
    "a file that is not there": "x/../y",
}


@pytest.mark.parametrize("path", ODD_PATHS.values(), ids=ODD_PATHS)
async def test_no_path_to_a_configuration_makes_a_foreign_exception(path: str) -> None:
    doors: list[Door] = [lambda _, path: load_settings(path), lambda _, path: validate_config(path)]
    doors.append(lambda _, path: _opened(path))
    assert [await foreign(door, None, path) for door in doors] == [None] * 3


VARIABLES = ["TOOLCRIB_HOME", "TOOLCRIB_CONFIG", "TOOLCRIB_CACHE_DIR", "TOOLCRIB_CALL_TIMEOUT", "CCOS_MCP_CACHE_TTL"]


@pytest.mark.parametrize("value", ODD_PATHS.values(), ids=ODD_PATHS)
@pytest.mark.parametrize("name", VARIABLES)
async def test_no_variable_makes_a_foreign_exception(name: str, value: str) -> None:
    env = {**os.environ, name: value}

    doors: list[Door] = [lambda env, _: load_settings(env=env), lambda env, _: validate_config(env=env)]
    doors.append(lambda env, _: _opened(None, env))
    assert [await foreign(door, env, "") for door in doors] == [None] * 3


async def test_a_working_directory_that_was_deleted_is_one_without_files(tmp_path: Path) -> None:
    folder = tmp_path / "short-lived"
    folder.mkdir()
    os.chdir(folder)
    folder.rmdir()

    assert load_settings().file is None
    assert validate_config().is_valid
    async with open_gateway() as gateway:
        assert await gateway.list_servers() == []


async def test_without_a_home_folder_a_named_state_folder_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    _be_nobody(monkeypatch)

    assert load_settings().servers == ()
    await _opened(None)


def test_with_neither_a_home_nor_a_state_folder_the_hint_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    _be_nobody(monkeypatch)
    monkeypatch.delenv("TOOLCRIB_HOME")

    with pytest.raises(ToolcribError) as raised:
        load_settings()
    assert (raised.value.code, raised.value.hint) == ("CONFIGURATION_ERROR", "Set HOME, or TOOLCRIB_HOME.")


def _be_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whom the system has no home for, as containers have them."""
    for name in ("HOME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH"):
        monkeypatch.delenv(name, raising=False)

    def unknown(_: int) -> None:
        raise KeyError("uid not found")

    if sys.platform != "win32":
        monkeypatch.setattr(pwd, "getpwuid", unknown)

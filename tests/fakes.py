"""Upstream servers in memory that speak real JSON-RPC, and clocks that do not wait."""

from __future__ import annotations

import asyncio
import json
import selectors
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from mcp_types import PROTOCOL_VERSION_META_KEY, SERVER_INFO_META_KEY, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from toolcrib.errors import ServerConnectionError
from toolcrib.model.asking import QuestionRefused
from toolcrib.model.server import ServerSpec, StdioLaunch
from toolcrib.upstream.inbox import Inbox
from toolcrib.upstream.link import LinkEars, NotificationHandler, SessionExpired
from toolcrib.upstream.mux import Mux
from toolcrib.wire import jsonrpc
from toolcrib.wire.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

MODERN = MODERN_PROTOCOL_VERSIONS[-1]

Answer = Mapping[str, Any]
Method = Callable[[dict[str, Any]], Awaitable[Answer] | Answer]


async def eventually(predicate: Callable[[], Any], seconds: float = 10.0) -> None:
    """Wait until `predicate` holds; fails when it does not within `seconds`."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not predicate():
        assert asyncio.get_running_loop().time() < deadline, f"still not so after {seconds} s"
        await asyncio.sleep(0.005)


class Clock:
    """Seconds that pass only when told to."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class _PatientSelector(selectors.DefaultSelector):
    """Where the loop would sleep, moves its clock instead."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is not None:
            self.skipped += timeout
            return ready
        # Nothing will ever happen by itself: wait for a thread or a signal, which tests on this loop have not.
        return ready or super().select(timeout)


class InstantLoop(asyncio.SelectorEventLoop):
    """An event loop on which minutes pass at once; only for tests without threads, processes and sockets.

    A module uses it by overriding the fixture `anyio_backend` with `INSTANT`.
    """

    def __init__(self) -> None:
        self._patient = _PatientSelector()
        super().__init__(self._patient)

    def time(self) -> float:
        return super().time() + self._patient.skipped


INSTANT = ("asyncio", {"loop_factory": InstantLoop})


def tool(name: str, description: str = "", **more: Any) -> dict[str, Any]:
    """A definition as a server lists it; by default any arguments are fine."""
    return {"name": name, "description": description or f"Does {name}.", "inputSchema": {"type": "object"}, **more}


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def spec(name: str = "files", **more: Any) -> ServerSpec:
    return ServerSpec(name, more.pop("launch", StdioLaunch("fake", (name,))), **more)


def hearing(hear: NotificationHandler) -> LinkEars:
    """Ears that hear notifications so, and answer what can be answered without a client."""
    return LinkEars(hear, Inbox("files", lambda: None).asked)


@dataclass
class FakeServer:
    """A server of one era; what a link to it does is decided by `methods` and `tools`, which tests may change."""

    name: str = "files"
    definitions: list[dict[str, Any]] = field(default_factory=list)
    era: Literal["modern", "legacy"] = "modern"
    version: str = "1.0"
    own_name: str = ""
    capabilities: dict[str, Any] = field(default_factory=lambda: {"tools": {}})
    tools: dict[str, Callable[[dict[str, Any]], Awaitable[Answer] | Answer]] = field(default_factory=dict)
    methods: dict[str, Method] = field(default_factory=dict)
    on_open: Callable[[], Awaitable[None]] | None = None
    on_close: Callable[[], Awaitable[None]] | None = None
    links: list[FakeLink] = field(default_factory=list)
    heard: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    session: int = 0

    @property
    def starts(self) -> int:
        return len(self.links)

    @property
    def open_links(self) -> list[FakeLink]:
        return [link for link in self.links if not link.is_closed]

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """Name and arguments of each call, in order."""
        return [(params["name"], params["arguments"]) for method, params in self.heard if method == "tools/call"]

    def count(self, method: str) -> int:
        return sum(heard == method for heard, _ in self.heard)

    def answer_once(self, method: str, first: Method) -> None:
        """Answer the first request of a method differently from all later ones."""

        def answer(params: dict[str, Any]) -> Awaitable[Answer] | Answer:
            del self.methods[method]
            return first(params)

        self.methods[method] = answer

    async def open(self, ears: LinkEars) -> FakeLink:
        if self.on_open is not None:
            await self.on_open()
        link = FakeLink(self, ears)
        self.links.append(link)
        return link

    def notify(self, method: str, params: Answer | None = None) -> None:
        """Say something on every open link."""
        for link in self.open_links:
            link.feed(jsonrpc.notification(method, json.dumps(params or {}).encode()))

    def crash(self, reason: str = "it exited with code 1") -> None:
        for link in self.open_links:
            link.lose(reason)

    def forget_sessions(self) -> None:
        """From now on every open link is told that its session is unknown."""
        self.session += 1

    async def answer(self, link: FakeLink, method: str, params: dict[str, Any]) -> Answer:
        self.heard.append((method, params))
        given = (self.methods.get(method) or self._own(link, method, params))(params)
        return await given if isinstance(given, Awaitable) else given

    def _own(self, link: FakeLink, method: str, params: dict[str, Any]) -> Method:
        methods: dict[str, Method] = {"tools/list": self._list, "tools/call": self._call, "logging/setLevel": _nothing}
        if self.era == "legacy":
            methods["initialize"] = link.initialize
            if method != "initialize" and not link.is_initialized:
                raise RpcError(
                    METHOD_NOT_FOUND if method == "server/discover" else INVALID_PARAMS, "initialize comes first"
                )
        else:
            methods |= {"server/discover": self._discover, "subscriptions/listen": _forever}
            if params.get("_meta", {}).get(PROTOCOL_VERSION_META_KEY) not in MODERN_PROTOCOL_VERSIONS:
                raise RpcError(UNSUPPORTED_PROTOCOL_VERSION, "which version?", {"supported": [MODERN]})
        if method not in methods:
            raise RpcError(METHOD_NOT_FOUND, f"no {method} here")
        return methods[method]

    def _discover(self, _: dict[str, Any]) -> Answer:
        info = {"name": self.own_name or self.name, "version": self.version}
        return {
            "supportedVersions": [MODERN],
            "capabilities": self.capabilities,
            "_meta": {SERVER_INFO_META_KEY: info},
        }

    def _list(self, _: dict[str, Any]) -> Answer:
        return {"tools": self.definitions}

    async def _call(self, params: dict[str, Any]) -> Answer:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            run = self.tools.get(params["name"])
            given = run(params["arguments"]) if run else text(json.dumps(params["arguments"]))
            return await given if isinstance(given, Awaitable) else given
        finally:
            self.running -= 1


async def _forever(_: dict[str, Any]) -> Answer:
    await asyncio.get_running_loop().create_future()
    return {}


def _nothing(_: dict[str, Any]) -> Answer:
    return {}


class FakeLink:
    """A link whose lines go straight to a FakeServer and back."""

    attributes = False

    def __init__(self, server: FakeServer, ears: LinkEars) -> None:
        self.server = server
        self.is_initialized = False
        self.is_closed = False
        self._session = server.session
        self._ears = ears
        self._mux = Mux(server.name, self._send, ears)
        self._answering: dict[int, asyncio.Task[None]] = {}
        # The tasks that answer requests of the client now.
        self.tasks: set[asyncio.Task[Any] | None] = set()
        self._asked: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self.on_notified: Callable[[str], None] = lambda _: None

    async def request(self, id: int, method: str, params: bytes, headers: Mapping[str, str]) -> bytes:
        if self._session != self.server.session:
            raise SessionExpired
        return await self._mux.request(id, method, params)

    async def notify(self, method: str, params: bytes, headers: Mapping[str, str]) -> None:
        await self._mux.notify(method, params)

    async def wait_closed(self) -> str:
        return await self._mux.wait_closed()

    async def close(self) -> None:
        if self.server.on_close is not None:
            await self.server.on_close()
        self.lose("it was stopped")

    def feed(self, line: bytes) -> None:
        self._mux.feed(line)

    async def ask(self, method: str, params: Answer | None = None, of: int | None = None) -> dict[str, Any]:
        """What the client answers to a request of the server: a message with `result` or `error`.

        `of` is the id of the client's request on whose stream the question comes, as over HTTP.
        """
        if of is not None:
            try:
                return {"result": json.loads(await self._ears.asked(method, json.dumps(params or {}).encode(), of))}
            except QuestionRefused as refusal:
                return {"error": {"code": refusal.code, "message": refusal.message}}
        id = f"s{len(self._asked)}"
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[id] = answer
        self.feed(jsonrpc.request(id, method, json.dumps(params or {}).encode()))
        return await answer

    def lose(self, reason: str) -> None:
        self.is_closed = True
        for task in self._answering.values():
            task.cancel()
        self._mux.closed(reason)

    def initialize(self, _: dict[str, Any]) -> Answer:
        self.is_initialized = True
        return {
            "protocolVersion": LATEST_HANDSHAKE_VERSION,
            "capabilities": self.server.capabilities,
            "serverInfo": {"name": self.server.own_name or self.server.name, "version": self.server.version},
        }

    async def _send(self, line: bytes) -> None:
        if self.is_closed:
            raise ServerConnectionError("it is gone", server=self.server.name)
        message = json.loads(line)
        if "method" not in message:
            self._asked[message["id"]].set_result(message)
        elif message.get("method") == "notifications/cancelled":
            self._cancel(message["params"]["requestId"])
        elif "id" not in message:
            self.on_notified(message["method"])
        else:
            task = asyncio.create_task(self._answer(message))
            self._answering[message["id"]] = task
            self.tasks.add(task)
            task.add_done_callback(lambda _: self._answering.pop(message["id"], None))

    def _cancel(self, id: int) -> None:
        self.server.cancelled.append(id)
        if id in self._answering:
            self._answering[id].cancel()

    async def _answer(self, message: dict[str, Any]) -> None:
        with suppress(asyncio.CancelledError):
            try:
                result = await self.server.answer(self, message["method"], message["params"])
                line = jsonrpc.response(message["id"], json.dumps(result).encode())
            except RpcError as error:
                line = jsonrpc.error_response(message["id"], error.code, error.message, error.data)
            if not self.is_closed:
                self.feed(line)


class FakeServers:
    """Opens links to the servers it holds, by name; takes the place of the real transports."""

    def __init__(self, *servers: FakeServer) -> None:
        self._servers = {server.name: server for server in servers}

    def __getitem__(self, name: str) -> FakeServer:
        return self._servers[name]

    async def __call__(self, spec: ServerSpec, ears: LinkEars) -> FakeLink:
        if spec.name not in self._servers:
            raise ServerConnectionError(f"the command {spec.name!r} was not found", server=spec.name)
        return await self._servers[spec.name].open(ears)

    async def close(self) -> None:
        """Nothing is shared."""

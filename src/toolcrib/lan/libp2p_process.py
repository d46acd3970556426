"""libp2p in a process of its own: its packages and its event loop never come into ours."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from toolcrib.errors import ExtraMissing, ServerConnectionError, ToolcribError
from toolcrib.lan.protocols import OnAsked
from toolcrib.model.peer_id import is_peer_id

log = logging.getLogger(__name__)

EXTRA = "libp2p"
PYTHON = sys.executable
CARD_PROTOCOL = "/praxis/card/1.0.0"
TOOL_PROTOCOL = "/praxis/tool/1.0.0"
MCP_PROTOCOL = "/praxis/mcp/1.0.0"
WAITS = (1.0, 2.0, 3.0, 4.0, 5.0)
# One that ran for so long before it ended is a new failure, not one more of the same.
STEADY_SECONDS = 60.0
# The largest answer of a peer (10 MiB), were every byte of it written as six.
MOST_LINE_BYTES = 64 * 1024 * 1024
MOST_ADDRESSES = 4
MOST_LOG_BYTES = 1024 * 1024
END_SECONDS = 5.0
# Those that the node can't do without, and the one that is built where it is installed.
_MODULES = ("libp2p", "trio", "multiaddr", "fastecdsa")
# How much longer than the question itself we wait for the other process to say that it failed.
_GRACE_SECONDS = 2.0

FoundPeer = Callable[[str, tuple[str, ...], str], None]
"""(id, addresses as libp2p writes them, how: "libp2p" by multicast or by coming to us, or "dht")

Hints only: whoever is there has to prove who it is when it is asked.
"""


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """What the node does; `listen` are addresses with ports (0 takes a free one)."""

    listen: tuple[tuple[str, int], ...]
    interfaces: tuple[str, ...] = ()
    tag: str = "praxis-p2p-mcp"
    mdns: bool = False
    dht: bool = False
    rendezvous: str = "praxis-agents"
    bootstrap: tuple[str, ...] = ()


@dataclass
class Libp2pProcess:
    """Fulfils `PeerStreams`. `run` keeps the process going; it ends with its pipe, however we end.

    `on_ready` is called with True once peers can be reached, and with False when they no longer can.
    The key goes to the process by its pipe, never as an argument or a variable.
    """

    settings: NodeSettings
    private_key: bytes = field(repr=False)
    on_asked: OnAsked
    on_found: FoundPeer
    on_gone: Callable[[str], None] = lambda _: None
    on_ready: Callable[[bool], None] = lambda _: None
    log_file: Path | None = None
    python: str = field(default_factory=lambda: PYTHON)
    env: Mapping[str, str] | None = None
    addresses: tuple[str, ...] = ()
    pid: int | None = None

    def __post_init__(self) -> None:
        self.ready = asyncio.Event()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._stdin: asyncio.StreamWriter | None = None

    async def run(self) -> None:
        """Start the process, and again where it ends; raises ExtraMissing where libp2p is not installed."""
        loop = asyncio.get_running_loop()
        failures = 0
        while failures <= len(WAITS):
            began = loop.time()
            try:
                await self._run_once()
            except (OSError, ServerConnectionError) as problem:
                log.warning("libp2p could not be started: %s", problem)
            failures = 1 if loop.time() - began > STEADY_SECONDS else failures + 1
            if failures <= len(WAITS):
                log.warning("libp2p ended; it is started again in %g s", WAITS[failures - 1])
                await asyncio.sleep(WAITS[failures - 1])
        log.error("libp2p ended %d times in a row and is not started again; see %s", failures, self.log_file)

    async def connect(self, peer_id: str, addresses: Sequence[str], seconds: float) -> str:
        """Be connected to a peer; at which of these addresses, or nothing where it came to us.

        Raises ServerConnectionError where it can't be reached in time.
        """
        answer = await self._question("connect", seconds, peer=peer_id, addrs=list(addresses))
        return answer.decode()

    async def ask(self, peer_id: str, protocol: str, body: bytes, seconds: float) -> bytes:
        """The peer's answer; it is connected to as the last time. Raises ServerConnectionError as above."""
        return await self._question("ask", seconds, peer=peer_id, protocol=protocol, body=body.decode())

    async def _question(self, kind: str, seconds: float, **values: Any) -> bytes:
        number = next(self._numbers)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self._send(kind, n=number, seconds=seconds, **values)
            async with asyncio.timeout(seconds + _GRACE_SECONDS):
                return await answer
        except TimeoutError:
            raise _unreached("the peer", f"no answer within {seconds:g} s", sent=kind == "ask") from None
        finally:
            self._waiting.pop(number, None)

    async def _run_once(self) -> None:
        with _log_to(self.log_file) as errors:
            process = await asyncio.create_subprocess_exec(
                self.python,
                "-P",  # nothing of the folder that we run in is imported
                "-m",
                "toolcrib.libp2p_node",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=MOST_LINE_BYTES,
                env=self.env,
                cwd=os.sep,
                start_new_session=True,
            )
        self.pid = process.pid
        try:
            self._stdin = process.stdin
            await self._send("start", key=self.private_key.hex(), **msgspec.to_builtins(self.settings))
            await self._hear(process)
        finally:
            self._lost()
            await _ended(process)

    async def _hear(self, process: asyncio.subprocess.Process) -> None:
        heard = process.stdout or asyncio.StreamReader()
        while line := await _line_of(heard):
            try:
                told = msgspec.json.decode(line, type=dict[str, Any])
                await self._take(told)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError) as problem:
                log.debug("libp2p said what can't be read: %r", problem)

    async def _take(self, told: Mapping[str, Any]) -> None:
        match told["kind"]:
            case "ready":
                self.addresses = tuple(told["addrs"])
                self.ready.set()
                self.on_ready(True)
            case "found" if is_peer_id(told["peer"]):
                self.on_found(told["peer"], tuple(told["addrs"][:MOST_ADDRESSES]), told["by"])
            case "gone":
                self.on_gone(told["peer"])
            case "answer":
                self._answered(told)
            case "asked" if is_peer_id(told["peer"]):
                task = asyncio.create_task(self._answer(told))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
            case "missing":
                raise _missing(str(told["module"]))
            case "trouble":
                log.warning("libp2p: %s", told["text"])

    def _answered(self, told: Mapping[str, Any]) -> None:
        waiting = self._waiting.get(told["n"])
        if waiting is None or waiting.done():
            return
        if "error" in told:
            waiting.set_exception(_unreached("the peer", str(told["error"]), sent=bool(told.get("sent", True))))
        else:
            waiting.set_result(str(told["body"]).encode())

    async def _answer(self, told: Mapping[str, Any]) -> None:
        answer: bytes | None = None
        try:
            answer = await self.on_asked(told["peer"], told["protocol"], str(told["body"]).encode())
        except ToolcribError as problem:
            log.info("a question of the peer %s was not answered: %s", told["peer"], problem.message)
        except Exception:
            log.exception("answering a peer failed unexpectedly")
        with suppress(ServerConnectionError):  # it has ended meanwhile
            await self._send("answer", n=told["n"], **({} if answer is None else {"body": answer.decode()}))

    async def _send(self, kind: str, **values: Any) -> None:
        if self._stdin is None or self._stdin.is_closing():
            raise _unreached("libp2p", "it does not run now", sent=False)
        try:
            self._stdin.write(msgspec.json.encode({"kind": kind, **values}) + b"\n")
            await self._stdin.drain()
        except OSError as problem:
            raise _unreached("libp2p", f"it has ended ({problem})") from None

    def _lost(self) -> None:
        if self.ready.is_set():
            self.ready.clear()
            self.on_ready(False)
        self.addresses = ()
        if self._stdin is not None:
            self._stdin.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(_unreached("the peer", "libp2p ended"))
        for task in self._answering:
            task.cancel()


def missing_packages() -> ExtraMissing | None:
    """What keeps libp2p from running with our own Python; None where nothing does."""
    absent = next((module for module in _MODULES if find_spec(module) is None), None)
    return _missing(absent) if absent is not None else None


async def _line_of(heard: asyncio.StreamReader) -> bytes:
    """The next line; nothing at the end, and where one is so long that what follows can't be understood any more."""
    try:
        return await heard.readline()
    except ValueError:
        log.warning("libp2p sent a line of more than %d bytes", MOST_LINE_BYTES)
        return b""


def _log_to(path: Path | None) -> Any:
    if path is None:
        path = Path(os.devnull)
    path.parent.mkdir(parents=True, exist_ok=True)
    is_long = path.is_file() and path.stat().st_size > MOST_LOG_BYTES
    return path.open("wb" if is_long else "ab")


async def _ended(process: asyncio.subprocess.Process) -> None:
    """The process ends with its pipe; one that does not is killed."""
    try:
        async with asyncio.timeout(END_SECONDS):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _missing(module: str) -> ExtraMissing:
    return ExtraMissing(
        f"peers.libp2p needs packages that are not installed ({module})",
        extra=EXTRA,
        hint="One of them is built when it is installed: that needs a C compiler and the headers of GMP.",
        module=module,
    )


def _unreached(who: str, why: str, *, sent: bool = True) -> ServerConnectionError:
    return ServerConnectionError(f"{who}: {why}", server=who, sent=sent)

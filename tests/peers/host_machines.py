"""Toolcrib on hosts of their own: real processes with a network between them, found by multicast on their network cards."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client

from tests.journeys.http_gateway import connect
from tests.journeys.stdio_gateway import Scripted, execute
from tests.peers.netns import Host, hosts, need_hosts
from toolcrib.cli.peer_text import state_of
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.capabilities import read_capabilities
from toolcrib.engine.peer_specs import open_peer_store
from toolcrib.engine.peer_trust import opened_peer_review
from toolcrib.model.peer import KnownPeer, PeerAddress
from toolcrib.peers.call_proof import proof_for
from toolcrib.peers.certificate import any_certificate, certificate_hash, kept_certificate
from toolcrib.peers.identity import Identity

BOUND_SECONDS = 30.0
PEER_PORT = 8666
STALE_SECONDS = 300
_TOOLCRIB = (sys.executable, "-m", "toolcrib")
_IS_THERE = re.compile(r"peers are listened for at https://\S+:(\d+)")


class HostMachine:
    """A person's machine, with `toolcrib serve --http`; every command runs on its host too."""

    def __init__(self, host: Host, folder: Path, environment: Mapping[str, str], name: str, **discovery: Any) -> None:
        self.host = host
        self.folder = folder
        self.name = name
        self._environment = {**os.environ, **environment, "TOOLCRIB_HOME": str(folder), "TOOLCRIB_LOG_LEVEL": "info"}
        folder.mkdir()
        self._log = folder / "serve.log"
        self._log.touch()
        self._earlier = 0
        self._discovery = discovery
        self.configure()
        self._serving: subprocess.Popen[str] | None = None

    # -- what a person does

    def configure(self, **peers: Any) -> None:
        """Write the configuration, with other settings for peers; one that runs reads it by itself."""
        self._discovery["peers"] = {
            "enabled": True,
            "advertise": True,
            "name": self.name,
            "checkInterval": 1,
            "staleAfter": STALE_SECONDS,
            **self._discovery.get("peers", {}),
            **peers,
        }
        fresh = self.folder / "toolcrib.new"
        fresh.write_text(json.dumps({"discovery": self._discovery}))
        fresh.replace(self.folder / "toolcrib.json")

    def start(self) -> None:
        self._earlier = len(self.log)
        with self._log.open("a") as log:
            self._serving = self.host.start(
                *_TOOLCRIB, "serve", "--http", env=self._environment, stdout=log, stderr=log
            )

    def wait_until_it_listens(self) -> None:
        wait_until(lambda: _IS_THERE.search(self.log[self._earlier :]), lambda: self.log)

    def kill(self) -> None:
        """End it as a crash would: nobody is told."""
        if self._serving is not None:
            self._serving.kill()
            self._serving.wait(BOUND_SECONDS)

    def stop(self) -> None:
        if self._serving is not None:
            self._serving.terminate()
            self._serving.wait(BOUND_SECONDS)

    def toolcrib(self, *arguments: str) -> str:
        """What a command says that must succeed."""
        done = self.try_toolcrib(*arguments)
        assert done.returncode == 0, f"{arguments}: {done.stderr}\n{self.log}"
        return done.stdout

    def try_toolcrib(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command that may fail, because machines take a moment to hear of each other's decisions."""
        return self.host.run(*_TOOLCRIB, *arguments, env=self._environment, timeout=BOUND_SECONDS)

    @contextmanager
    def begun(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A command that takes its time; with the block it is over."""
        started = self.host.start(
            *_TOOLCRIB, *arguments, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        with started:
            try:
                yield started
            finally:
                started.kill()

    def trust(self, name: str) -> None:
        """What `toolcrib peers trust` does, without the second that its process takes."""
        with (
            read_capabilities(Settings(), {"TOOLCRIB_HOME": str(self.folder)}) as opened,
            opened_peer_review(self.paths, opened.review) as review,
        ):
            review.approve(review.proposal_for(review.find(name)), "test")

    # -- what can be seen

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def paths(self) -> Paths:
        return Paths.of({"TOOLCRIB_HOME": str(self.folder)})

    @property
    def peer_id(self) -> str:
        return Identity.kept_at(self.paths.peer_key).peer_id

    @property
    def port(self) -> int:
        found = _IS_THERE.findall(self.log)
        return int(found[-1])

    @property
    def address(self) -> PeerAddress:
        return PeerAddress(self.host.address, self.port)

    @property
    def url(self) -> str:
        return "http://127.0.0.1:8665/mcp"

    @property
    def token(self) -> str:
        return (self.folder / "token").read_text().strip()

    @property
    def most_memory_bytes(self) -> int:
        """The most that its process ever had."""
        assert self._serving is not None
        status = Path(f"/proc/{self._serving.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    def peers(self) -> dict[str, KnownPeer]:
        """Those that it knows, by the names of their servers."""
        with closing(open_peer_store(self.paths)) as store:
            return {peer.server: peer for peer in store.peers()}

    def states(self) -> dict[str, str]:
        stale = self._discovery["peers"]["staleAfter"]
        return {name: state_of(peer, time.time(), stale) for name, peer in self.peers().items()}

    @property
    def offered(self) -> set[str]:
        """The tools that it offers to peers, once its servers were read."""
        return {pattern.replace(":", "__") for pattern in self._discovery["peers"].get("expose", [])}

    def tools_of(self, name: str) -> set[str] | None:
        """The tools in the card of a peer; None where there is no card."""
        brief = self.peers().get(f"peer-{name}")
        if brief is None:
            return None
        with closing(open_peer_store(self.paths)) as store:
            peer = store.peer(brief.peer_id)
        if peer is None or peer.card is None:
            return None
        return {str(one["name"]) for one in peer.card.definitions or ()}

    def knows(self, other: HostMachine) -> None:
        """Wait until it knows the tools of another."""
        wait_until(lambda: self.tools_of(other.name) == other.offered, lambda: f"{self.peers()}\n{self.log}")

    def lets_in(self, other: HostMachine) -> bool:
        """Whether its process has heard that its person trusts the other one, which takes a moment."""
        tls = certificate_hash(kept_certificate(self.paths.peer_certificate, self.peer_id))
        proof = proof_for(Identity.kept_at(other.paths.peer_key), self.peer_id, tls, time.time())
        headers = {"authorization": f"Bearer {proof}"}
        with other.host.entered(), httpx2.Client(verify=any_certificate(), trust_env=False) as client:
            return client.post(f"https://{self.address}/mcp", headers=headers).status_code != httpx2.codes.FORBIDDEN

    def comes_to(self, **states: str) -> None:
        """Wait until these peers are in these states."""
        wanted = {f"peer-{name}": state for name, state in states.items()}
        wait_until(lambda: wanted.items() <= self.states().items(), lambda: f"{self.states()}\n{self.log}")

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[Client]:
        """An agent on this machine, connected to its gateway; the network of this thread is the host's meanwhile."""
        with self.host.entered():
            async with connect(self, "auto") as client:
                yield client


def wait_until(is_so: Callable[[], Any], told: Callable[[], str], seconds: float = BOUND_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, told()
        time.sleep(0.05)


async def comes_true(is_so: Callable[[], Awaitable[bool]], told: HostMachine, seconds: float = BOUND_SECONDS) -> None:
    """Wait until what an agent is told is so."""
    deadline = time.monotonic() + seconds
    while not await is_so():
        assert time.monotonic() < deadline, told.log
        await asyncio.sleep(0.2)


async def succeeds(agent: Client, server: str, tool: str, text: str = "over the wire") -> bool:
    """Whether a tool of the desk can be run, and does what it does."""
    result = await execute(agent, server, tool, **({"text": text} if tool.endswith("echo") else {}))
    return not result.is_error and (text in str(result.content) or not tool.endswith("echo"))


class Neighbourhood:
    """Hosts, and the machines on some of them."""

    def __init__(self, places: Sequence[Host], folder: Path, environment: Mapping[str, str], held: ExitStack) -> None:
        self._free = list(places)
        self._folder = folder
        self._environment = environment
        self._held = held
        self.desk = Scripted(folder / "desk.jsonl")

    def host(self) -> Host:
        """A host with nothing on it."""
        return self._free.pop(0)

    def machine(
        self, name: str, *, host: Host | None = None, folder: str = "", starts: bool = True, **discovery: Any
    ) -> HostMachine:
        """A machine on a host of its own, which starts now; `meet` and others wait for it."""
        one = HostMachine(host or self.host(), self._folder / (folder or name), self._environment, name, **discovery)
        self._held.callback(one.stop)
        if starts:
            one.start()
        return one

    def with_desk(self, name: str, *exposed: str, **peers: Any) -> HostMachine:
        """A machine with a server `desk`, of which peers may use these tools."""
        offered = [f"desk:{tool}" for tool in exposed or ("echo",)]
        return self.machine(name, servers={"desk": self.desk.entry()}, peers={"expose": offered, **peers})


@contextmanager
def neighbourhood(count: int, folder: Path, environment: Mapping[str, str]) -> Iterator[Neighbourhood]:
    need_hosts()
    with hosts(count) as places, ExitStack() as held:
        yield Neighbourhood(places, folder, environment, held)


def meet(*machines: HostMachine) -> None:
    """Wait until all of these know each other and their tools, and their persons trust each other."""
    pairs = [(one, other) for one in machines for other in machines if one is not other]
    for one, other in pairs:
        one.knows(other)
        one.trust(other.name)
    for one, other in pairs:
        wait_until(partial(one.lets_in, other), lambda one=one: one.log)  # type: ignore[misc]

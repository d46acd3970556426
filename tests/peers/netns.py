"""Several hosts on one machine: network namespaces on a switch of their own, so that the machine's network stays as it is."""

from __future__ import annotations

import ctypes
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toolcrib.storage.file_lock import file_lock

BOUND_SECONDS = 10.0
# The names of ours begin so, with the id of the process that made them.
_OURS = re.compile(r"tc-(\d+)-[0-9a-f]+-\w+")
_NAMES = Path("/run/netns")
_CLONE_NEWNET = 0x40000000


def why_not() -> str:
    """Why no hosts can be made here; empty where they can."""
    if sys.platform != "linux":
        return "only Linux has network namespaces"
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    if shutil.which("ip") is None:
        return "the program ip is not installed (Debian: iproute2)"
    probe = f"tc-{os.getpid()}-{secrets.token_hex(3)}-probe"
    with _alone():
        made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    _remove(probe)
    return f"network namespaces can't be made here: {made.stderr.strip()}" if made.returncode else ""


def need_hosts() -> None:
    """Skip the test where no hosts can be made; on Linux in CI that is a failure."""
    if not (reason := why_not()):
        return
    if os.environ.get("CI") == "true" and sys.platform == "linux":
        pytest.fail(reason)
    pytest.skip(reason)


@dataclass(frozen=True)
class Host:
    """A host with one network card; `address` is its own, `port` the name of its place on the switch."""

    name: str
    address: str
    switch: str
    port: str

    def start(self, *command: str, **options: Any) -> subprocess.Popen[str]:
        """A program on this host; whoever starts it ends it."""
        return subprocess.Popen(["ip", "netns", "exec", self.name, *command], text=True, **options)

    def run(self, *command: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """A program on this host, to its end."""
        words = ["ip", "netns", "exec", self.name, *command]
        given = {"timeout": BOUND_SECONDS, **options}
        return subprocess.run(words, capture_output=True, text=True, check=False, **given)

    def ip(self, *words: str) -> None:
        """Change this host's own network."""
        _ip("-n", self.name, *words)

    def pull_cable(self) -> None:
        """Nothing goes in or out any more, and nobody is told."""
        _ip("-n", self.switch, "link", "set", self.port, "down")

    def plug_in(self) -> None:
        _ip("-n", self.switch, "link", "set", self.port, "up")

    def move_to(self, address: str) -> None:
        """Have another address from now on; connections from the old one are not ended, they just have no way."""
        self.ip("address", "del", f"{self.address}/24", "dev", "eth0")
        self.ip("address", "add", f"{address}/24", "dev", "eth0")

    def take_the_place_of(self, other: Host) -> None:
        """Have the addresses of another host, as whoever sits on the same network can."""
        shown = subprocess.run(
            ["ip", "-n", other.name, "-json", "link", "show", "eth0"],
            check=True,
            capture_output=True,
            timeout=BOUND_SECONDS,
        )
        self.ip("address", "flush", "dev", "eth0", "scope", "global")
        self.ip("link", "set", "eth0", "down")
        self.ip("link", "set", "eth0", "address", json.loads(shown.stdout)[0]["address"], "up")
        self.ip("address", "add", f"{other.address}/24", "dev", "eth0")

    @contextmanager
    def entered(self) -> Iterator[None]:
        """The network of this thread is this host's: sockets that are opened in the block stay there."""
        with Path("/proc/self/ns/net").open("rb") as own, (_NAMES / self.name).open("rb") as there:
            _set_network(there.fileno())
            try:
                yield
            finally:
                _set_network(own.fileno())


@contextmanager
def hosts(count: int) -> Iterator[Sequence[Host]]:
    """So many hosts that reach each other and nothing else; gone with the block, whatever happens in it.

    What a killed run has left is removed first.
    """
    mark = f"tc-{os.getpid()}-{secrets.token_hex(3)}"
    switch = f"{mark}-switch"
    made = [Host(f"{mark}-{number}", f"10.77.0.{number}", switch, f"port{number}") for number in range(1, count + 1)]
    try:
        with _alone():
            sweep()
            _ip("netns", "add", switch)
            for host in made:
                _ip("netns", "add", host.name)
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        for host in made:
            _connect(host)
        yield made
    finally:
        for name in (*(host.name for host in made), switch):
            _remove(name)


def sweep() -> None:
    """Remove the hosts of runs that are no more, with the programs on them."""
    for name in os.listdir(_NAMES) if _NAMES.is_dir() else ():
        if (found := _OURS.fullmatch(name)) is not None and not Path(f"/proc/{found[1]}").exists():
            _remove(name)


def _remove(name: str) -> None:
    running = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
    for pid in running.stdout.split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _connect(host: Host) -> None:
    _ip("link", "add", "eth0", "netns", host.name, "type", "veth", "peer", "name", host.port, "netns", host.switch)
    _ip("-n", host.switch, "link", "set", host.port, "master", "bridge", "up")
    host.ip("address", "add", f"{host.address}/24", "dev", "eth0")
    for device in ("lo", "eth0"):
        host.ip("link", "set", device, "up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=BOUND_SECONDS)


def _set_network(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "the network of another host can't be entered")


@contextmanager
def _alone() -> Iterator[None]:
    """`ip netns add` sets up the folder of all names at its first use, and two of it at once disturb each other."""
    with file_lock(Path(tempfile.gettempdir()) / "toolcrib-tests-netns.lock", wait_seconds=BOUND_SECONDS) as is_ours:
        assert is_ours, "another run makes hosts, and does not come to an end"
        yield

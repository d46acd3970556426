"""Several hosts on one machine: network namespaces on a switch of their own, so that the machine's network stays as it is."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

BOUND_SECONDS = 10.0


def why_not() -> str:
    """Why no hosts can be made here; empty where they can."""
    if os.environ.get("CI"):
        return "not on shared machines: it changes the network of the machine"
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "only root can make network namespaces"
    if shutil.which("ip") is None:
        return "the program ip is not installed"
    probe = f"tc-{secrets.token_hex(3)}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return f"network namespaces can't be made here: {made.stderr.strip()}"
    _ip("netns", "del", probe)
    return ""


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

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """A program on this host, to its end."""
        words = ["ip", "netns", "exec", self.name, *command]
        return subprocess.run(words, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False)

    def pull_cable(self) -> None:
        """Nothing goes in or out any more, and nobody is told."""
        _ip("-n", self.switch, "link", "set", self.port, "down")

    def plug_in(self) -> None:
        _ip("-n", self.switch, "link", "set", self.port, "up")


@contextmanager
def hosts(count: int) -> Iterator[Sequence[Host]]:
    """So many hosts that reach each other and nothing else; gone with the block, whatever happens in it."""
    mark = secrets.token_hex(3)
    switch = f"tc-{mark}-switch"
    made = [Host(f"tc-{mark}-{number}", f"10.77.0.{number}", switch, f"port{number}") for number in range(1, count + 1)]
    try:
        _ip("netns", "add", switch)
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        for host in made:
            _connect(host)
        yield made
    finally:
        for name in (*(host.name for host in made), switch):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _connect(host: Host) -> None:
    _ip("netns", "add", host.name)
    _ip("link", "add", "eth0", "netns", host.name, "type", "veth", "peer", "name", host.port, "netns", host.switch)
    _ip("-n", host.switch, "link", "set", host.port, "master", "bridge", "up")
    _ip("-n", host.name, "address", "add", f"{host.address}/24", "dev", "eth0")
    for device in ("lo", "eth0"):
        _ip("-n", host.name, "link", "set", device, "up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=BOUND_SECONDS)

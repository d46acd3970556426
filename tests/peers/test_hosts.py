"""Machines with a network between them: hosts of their own, found by multicast on their network cards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.stdio_gateway import SCRIPTED_SERVER
from tests.peers.netns import Host, hosts, why_not

BOUND_SECONDS = 30.0
TOOLCRIB = (sys.executable, "-m", "toolcrib")


class Machine:
    """Toolcrib on a host, as `toolcrib serve --http`; every command runs on that host too."""

    def __init__(self, host: Host, folder: Path, environment: dict[str, str], name: str, **discovery: Any) -> None:
        self.host = host
        self._environment = {**environment, "TOOLCRIB_HOME": str(folder)}
        folder.mkdir()
        self._log = folder / "serve.log"
        peers = {"enabled": True, "advertise": True, "name": name, "checkInterval": 1, **discovery.pop("peers", {})}
        (folder / "toolcrib.json").write_text(json.dumps({"discovery": {"peers": peers, **discovery}}))
        self._serving = self.start()

    def start(self) -> subprocess.Popen[str]:
        with self._log.open("a") as log:
            serving = (*TOOLCRIB, "serve", "--http", "--port", "0")
            return self.host.start(*serving, env=self._environment, stdout=log, stderr=log)

    def restart(self) -> None:
        self._serving = self.start()

    def kill(self) -> None:
        """End it as a crash would: nobody is told."""
        self._serving.send_signal(signal.SIGKILL)
        self._serving.wait(BOUND_SECONDS)

    def stop(self) -> None:
        self._serving.terminate()
        self._serving.wait(BOUND_SECONDS)

    def toolcrib(self, *arguments: str) -> str:
        """What a command says that must succeed."""
        done = subprocess.run(
            ["ip", "netns", "exec", self.host.name, *TOOLCRIB, *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=BOUND_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{done.stderr}\n{self._log.read_text()}"
        return done.stdout

    def states(self) -> dict[str, str]:
        return {peer["name"]: peer["state"] for peer in json.loads(self.toolcrib("peers", "list", "--json"))["peers"]}

    def comes_to(self, **states: str) -> None:
        """Wait until its peers are in these states."""
        wait_until(lambda: states.items() <= self.states().items(), lambda: f"{self.states()}\n{self._log.read_text()}")


def wait_until(is_so: Callable[[], bool], told: Callable[[], str]) -> None:
    deadline = time.monotonic() + BOUND_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, told()
        time.sleep(0.2)


@pytest.fixture
def three(tmp_path: Path, process_environment: dict[str, str]) -> Iterator[Sequence[Machine]]:
    """Kitchen, study and garden; the kitchen offers its tool `echo`."""
    if reason := why_not():
        pytest.skip(reason)
    entry = {
        "command": sys.executable,
        "args": ["-I", "-S", str(SCRIPTED_SERVER), str(tmp_path / "desk.jsonl"), "legacy", "plain"],
    }
    with ExitStack() as held:
        places = held.enter_context(hosts(3))
        made = []
        for place, name in zip(places, ("kitchen", "study", "garden"), strict=True):
            more = {"servers": {"desk": entry}, "peers": {"expose": ["desk:echo"]}} if name == "kitchen" else {}
            one = Machine(place, tmp_path / name, {**os.environ, **process_environment}, name, **more)
            held.callback(one.stop)
            made.append(one)
        yield made


@pytest.mark.timeout(150)
def test_three_hosts_find_search_and_execute_and_a_pulled_cable_is_noticed(three: Sequence[Machine]) -> None:
    kitchen, study, garden = three
    kitchen.toolcrib("execute", "desk", "echo", "text=here")
    garden.comes_to(kitchen="waiting", study="waiting")
    study.comes_to(kitchen="waiting", garden="waiting")
    kitchen.comes_to(study="waiting", garden="waiting")

    study.toolcrib("peers", "trust", "kitchen", "-y")
    kitchen.toolcrib("peers", "trust", "study", "-y")
    study.comes_to(kitchen="trusted")
    assert "desk__echo" in study.toolcrib("search", "echo", "--json")
    wait_until(lambda: _can_call(study), lambda: "the call does not work")

    kitchen.host.pull_cable()
    study.comes_to(kitchen="away", garden="waiting")
    kitchen.host.plug_in()
    study.comes_to(kitchen="trusted")

    kitchen.kill()
    study.comes_to(kitchen="away")
    kitchen.restart()
    study.comes_to(kitchen="trusted")
    wait_until(lambda: _can_call(study), lambda: "the call does not work")


def _can_call(machine: Machine) -> bool:
    try:
        answer = machine.toolcrib("execute", "peer-kitchen", "desk__echo", "text=over the wire", "--json")
    except AssertionError:
        return False
    return "over the wire" in answer

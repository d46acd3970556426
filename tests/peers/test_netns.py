"""The hosts that other tests are played on do what hosts do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peers.host_machines import wait_until
from tests.peers.netns import hosts, need_hosts

ANSWERING = """
import socket
server = socket.create_server(("0.0.0.0", 9000))
print("ready", flush=True)
while True:
    connection, _ = server.accept()
    connection.sendall(b"here")
    connection.close()
"""
ASKING = "import socket, sys; print(socket.create_connection((sys.argv[1], 9000), timeout=1).recv(10).decode())"


def test_hosts_reach_each_other_until_a_cable_is_pulled() -> None:
    need_hosts()
    with hosts(3) as (first, second, third):
        with first.start(sys.executable, "-c", ANSWERING, stdout=subprocess.PIPE) as server:
            try:
                assert server.stdout is not None
                assert server.stdout.readline() == "ready\n"

                def is_heard() -> list[str]:
                    return [host.run(sys.executable, "-c", ASKING, first.address).stdout for host in (second, third)]

                assert is_heard() == ["here\n", "here\n"]
                second.pull_cable()
                assert is_heard() == ["", "here\n"]
                second.plug_in()
                assert is_heard() == ["here\n", "here\n"]
            finally:
                server.kill()
        names = [host.name for host in (first, second, third)]
    assert not _left(names)


# Makes hosts, starts a program on one of them, and is still there when it is killed.
LEAVING = """
import sys, time
from tests.peers.netns import hosts
with hosts(2) as made:
    program = made[0].start("sleep", "600")
    print(program.pid, made[0].name, made[1].name, made[0].switch, flush=True)
    time.sleep(600)
"""


def test_what_a_killed_run_left_is_removed_with_the_programs_on_it_and_nothing_else_is() -> None:
    need_hosts()
    root = Path(__file__).parent.parent.parent
    with subprocess.Popen([sys.executable, "-c", LEAVING], stdout=subprocess.PIPE, text=True, cwd=root) as killed:
        assert killed.stdout is not None
        program, *names = killed.stdout.readline().split()
        with hosts(1):
            assert len(_left(names)) == 3, "a run that is under way is left alone"
        killed.kill()
        killed.wait()
    assert len(_left(names)) == 3

    with hosts(1):
        assert not _left(names)
        wait_until(lambda: not _is_running(int(program)), lambda: "the program still runs")


def test_in_ci_it_is_a_failure_where_no_hosts_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux has network namespaces")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception):
        need_hosts()
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception):
        need_hosts()


def _left(names: list[str]) -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [name for name in names if name in listed]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIG_DFL)
    except ProcessLookupError:
        return False
    return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()

"""The hosts that other tests are played on do what hosts do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.peers.netns import hosts, why_not

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
    if reason := why_not():
        pytest.skip(reason)
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
    left = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert [name for name in names if name in left] == []

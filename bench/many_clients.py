"""Twenty clients that all use the same ten servers: processes and memory, shared and with a gateway for each client.

    python -m bench.many_clients [--clients N] [--servers N] [--json FILE]

Memory is PSS: a page that several processes use counts in each of them by its share. The servers are left out, since they
are what somebody wants to run anyway; how many of them run is counted.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.driver import Peer, connector, synthetic, toolcrib, toolcrib_environment
from bench.process import children, proportional_megabytes
from bench.ready_home import compile_package
from bench.report import Figure, Report, arguments
from bench.shared_home import shared_home

CONNECTOR_MEGABYTES = 14
SETTLING_SECONDS = 3.0
Start = Callable[[Path], Peer]


def write_servers(config: Path, count: int, *, fixed_folder: bool) -> None:
    """So many servers that differ in an argument; with a fixed folder, the one that a client works in does not matter."""
    command = [*synthetic("modern"), "--number"]
    folder = {"cwd": str(config.parent)} if fixed_folder else {}
    entries = {
        f"server{number}": {"command": command[0], "args": [*command[1:], str(number)], **folder}
        for number in range(count)
    }
    config.write_text(json.dumps({"discovery": {"servers": entries}}), encoding="utf-8")


def use_all(peer: Peer, servers: int) -> None:
    peer.greet()
    peer.ask("tools/list", {})
    peer.call("search_tools", {"query": "give back a text"})
    for number in range(servers):
        call = {"server": f"server{number}", "tool": "echo", "arguments": {"text": "x"}}
        peer.call("execute_tool", call)


@contextmanager
def clients(start: Start, folders: Sequence[Path], servers: int) -> Iterator[list[Peer]]:
    """Clients that have used every server, each in its folder."""
    with ExitStack() as stack:
        peers = [stack.enter_context(start(folder)) for folder in folders]
        for peer in peers:
            use_all(peer, servers)
        time.sleep(SETTLING_SECONDS)  # what is learnt beside the first requests
        yield peers


def memory_of(pids: Sequence[int]) -> float:
    return sum(map(proportional_megabytes, pids))


def servers_of(pids: Sequence[int]) -> int:
    """How many processes of servers these have started."""
    return sum(b"synthetic_server.py" in _command_line(child) for pid in pids for child in children(pid))


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def in_folder(command: Sequence[str], env: Mapping[str, str]) -> Start:
    """Start a client's process in a folder."""

    def start(folder: Path) -> Peer:
        return Peer(["env", "-C", str(folder), *command], "modern", env)

    return start


def measure_shared(
    report: Report, name: str, folders: Sequence[Path], servers: int, *, fixed_folder: bool = True
) -> None:
    """One engine for all; the engine alone is what it takes with one client that used all servers."""
    with shared_home() as shop:
        write_servers(shop.config, servers, fixed_folder=fixed_folder)
        start = in_folder(connector(shop.config), shop.environment)
        with clients(start, folders[:1], servers):
            alone = proportional_megabytes(shop.engine())
        with clients(start, folders, servers) as peers:
            engines = shop.engines()
            connectors = [peer.pid for peer in peers]
            engine, handed = memory_of(engines), memory_of(connectors)
            running = servers_of(engines)
    count = len(folders)
    bar = 1.3 * alone + count * CONNECTOR_MEGABYTES
    report.add(Figure(f"{name}: engines", len(engines), "", 1))
    report.add(Figure(f"{name}: processes of servers", running, "", servers if fixed_folder else None))
    report.add(Figure(f"{name}: engine with one client", alone, "MB"))
    report.add(Figure(f"{name}: engine with {count} clients", engine, "MB"))
    report.add(Figure(f"{name}: a connector", handed / count, "MB", CONNECTOR_MEGABYTES))
    report.add(Figure(f"{name}: engine and connectors", engine + handed, "MB", round(bar)))


def measure_alone(report: Report, folders: Sequence[Path], servers: int) -> None:
    """A gateway in each client's process."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as home:
        config = Path(home, "toolcrib.json")
        write_servers(config, servers, fixed_folder=True)
        start = in_folder(toolcrib(config), toolcrib_environment(Path(home)))
        with clients(start, folders, servers) as peers:
            gateways = [peer.pid for peer in peers]
            report.add(Figure("in-process: processes of servers", servers_of(gateways)))
            report.add(Figure("in-process: all gateways", memory_of(gateways), "MB"))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--clients", type=int, default=20, help="how many clients (default 20)")
    parser.add_argument("--servers", type=int, default=10, help="how many servers (default 10)")
    options = parser.parse_args()
    compile_package()
    report = Report(f"{options.clients} clients, {options.servers} servers used by all of them")
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        own = [Path(folder, str(number)) for number in range(options.clients)]
        for one in own:
            one.mkdir()
        measure_shared(report, "shared", own[:1] * options.clients, options.servers)
        measure_shared(report, "a folder for each client", own, options.servers)
        name = "a folder for each client, which the servers look at"
        measure_shared(report, name, own, options.servers, fixed_folder=False)
        measure_alone(report, own[:1] * options.clients, options.servers)
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())

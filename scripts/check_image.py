"""Build the container image and try what it is for, where a container engine runs; elsewhere say that there is none.

`tests/packaging/test_image.py` asks the same questions of a plain folder in which the image's steps were run.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
ENGINES = ("docker", "podman")
IMAGE = "toolcrib:check"
BUILD_SECONDS = 1800
STEP_SECONDS = 300
USER_ID = "8665"
PORT = "8665"
# Servers of others, started as most people start them.
NPX_SERVER = ("npx", "-y", "@modelcontextprotocol/server-everything")
UVX_SERVER = ("uvx", "mcp-server-time")
TOOL_NAMES = {"list_mcp_servers", "search_tools", "list_tools", "get_tool_details", "execute_tool"}

# The command line that runs a program of the image with these words.
InImage: TypeAlias = Callable[[str, Sequence[str]], list[str]]


class Failed(Exception):
    """The image is not what it should be."""


def main() -> int:
    engine = running_engine()
    if engine is None:
        print("No container engine runs here, so the image is not built; a test runs its steps in a plain folder.")
        return 0
    try:
        print(f"Building the image with {engine} ...", flush=True)
        said([engine, "build", "--tag", IMAGE, str(ROOT)], seconds=BUILD_SECONDS)
        check_programs(container(engine))
        check_user(container(engine))
        check_stdio(container(engine))
        check_servers(container(engine), NPX_SERVER, UVX_SERVER)
        check_http(engine)
    except Failed as reason:
        print(f"The image does not work: {reason}", file=sys.stderr)
        return 1
    print("The image works: stdio, HTTP, npx and uvx.")
    return 0


def running_engine() -> str | None:
    """A program alone is not enough: its service may not run."""
    for name in ENGINES:
        found = shutil.which(name)
        if found and subprocess.run([found, "info"], capture_output=True, timeout=60, check=False).returncode == 0:
            return found
    return None


def container(engine: str) -> InImage:
    def command(program: str, words: Sequence[str]) -> list[str]:
        return [engine, "run", "--interactive", "--rm", "--entrypoint", program, IMAGE, *words]

    return command


def said(command: Sequence[str], *, seconds: float = STEP_SECONDS) -> str:
    """What a command prints; Failed, with all of it, where it does not end well."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"{shlex.join(command)}\n{done.stdout}")
    return done.stdout


def check_programs(in_image: InImage) -> None:
    """Toolcrib, and what starts servers."""
    for program in ("toolcrib", "anygpt", "node", "npm", "npx", "uv", "uvx"):
        if not any(letter.isdigit() for letter in said(in_image(program, ["--version"]))):
            raise Failed(f"{program} tells no version")


def check_user(in_image: InImage) -> None:
    """Nobody runs as root by accident."""
    user = said(in_image("id", ["-u"])).strip()
    if user != USER_ID:
        raise Failed(f"it runs as user {user}, not as {USER_ID}")


def check_stdio(in_image: InImage) -> None:
    """A client's whole conversation, on pipes."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
    dates = {"start": "2026-01-01", "end": "2026-03-01"}
    call = {"name": "execute_tool", "arguments": {"server": "clock", "tool": "days_between", "arguments": dates}}
    lines = [
        _request(1, "initialize", hello),
        _line(method="notifications/initialized"),
        _request(2, "tools/list", {}),
        _request(3, "tools/call", call),
    ]
    answers = _conversation(in_image("toolcrib", ["serve", "--demo"]), lines)
    names = {tool["name"] for tool in answers[2]["tools"]}
    if names != TOOL_NAMES:
        raise Failed(f"the tools are {sorted(names)}")
    if "59" not in answers[3]["content"][0]["text"]:
        raise Failed(f"the clock answers {answers[3]}")


def check_servers(in_image: InImage, npx_server: Sequence[str], uvx_server: Sequence[str]) -> None:
    """Servers that are started with npx and uvx run inside."""
    script = " && ".join(
        (
            f"toolcrib add by-npx -- {shlex.join(npx_server)} >&2",
            f"toolcrib add by-uvx -- {shlex.join(uvx_server)} >&2",
            "toolcrib --quiet discover by-npx by-uvx --json",
        )
    )
    printed = said(in_image("sh", ["-c", script]))
    found = json.JSONDecoder().raw_decode(printed, printed.index("\n{") + 1)[0]["servers"]
    if not all(server["ok"] and server["toolCount"] for server in found):
        raise Failed(f"a server does not run: {found}")


def check_http(engine: str) -> None:
    """The port is reached from outside."""
    publish = ["--publish", f"127.0.0.1::{PORT}"]
    serve = ["serve", "--http", "--host", "0.0.0.0"]  # noqa: S104 - inside the container, as the Dockerfile says
    name = said([engine, "run", "--detach", "--rm", *publish, IMAGE, *serve]).strip().splitlines()[-1]
    try:
        address = said([engine, "port", name, PORT]).strip().splitlines()[0]
        wait_for_health(f"http://{address}/health")
    finally:
        said([engine, "stop", name])


def wait_for_health(url: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - an address of our own
                if json.load(answer) == {"status": "ok"}:
                    return
        except OSError as problem:
            if time.monotonic() > deadline:
                raise Failed(f"{url} does not answer: {problem}") from problem
        time.sleep(0.2)


def _line(**message: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", **message}) + "\n"


def _request(id: int, method: str, params: dict[str, Any]) -> str:
    return _line(id=id, method=method, params=params)


def _conversation(command: Sequence[str], lines: Sequence[str]) -> dict[int, Any]:
    """The results by the ids of their requests; the client stays until it has the last one."""
    results: dict[int, Any] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        giving_up = threading.Timer(STEP_SECONDS, process.kill)
        giving_up.start()
        try:
            process.stdin.writelines(lines)
            process.stdin.flush()
            wanted = json.loads(lines[-1])["id"]
            while wanted not in results and (line := process.stdout.readline()):
                message = json.loads(line)
                results[message.get("id")] = message.get("result")
        finally:
            process.stdin.close()
            process.wait()
            giving_up.cancel()
    if results.get(wanted) is None:
        raise Failed(f"{shlex.join(command)} answers only {results}")
    return results


if __name__ == "__main__":
    raise SystemExit(main())

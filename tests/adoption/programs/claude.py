"""A stand-in for the program of Claude Code: `claude mcp add-json|remove` as version 2.1.325 does them.

It keeps its state in one file that it locks for each change, takes only names it likes, drops what it does not know, adds
an empty list of arguments, and forgets the sign-in of a remote server that is removed. Two variables make it fail:
STAND_IN_REFUSES names a command and a server ("remove:b") it refuses, STAND_IN_KILLS one after which it kills the process
that called it. STAND_IN_NOTES names a file that gets a line for each command, as anybody on the machine could read it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

KEPT = {
    "stdio": ("type", "command", "args", "env", "timeout", "alwaysLoad"),
    "http": ("type", "url", "headers", "headersHelper", "oauth", "timeout", "alwaysLoad"),
}
NEW_PROJECT = {"allowedTools": [], "mcpContextUris": [], "mcpServers": {}, "hasTrustDialogAccepted": False}
PLACE = Path(os.environ.get("CLAUDE_CONFIG_DIR") or os.environ["HOME"])
STATE = PLACE / ".claude.json"
SIGN_INS = Path(os.environ["HOME"]) / ".claude" / ".credentials.json"


def fail(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(1)


@contextmanager
def locked() -> Iterator[None]:
    PLACE.mkdir(parents=True, exist_ok=True)
    lock = STATE.with_name(f"{STATE.name}.lock")
    for _ in range(1000):
        try:
            lock.mkdir()
            break
        except FileExistsError:
            time.sleep(0.01)
    else:
        fail("Lock file is already being held")
    try:
        yield
    finally:
        lock.rmdir()


def read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


def write(file: Path, state: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.tmp")
    new.write_text(json.dumps(state, indent=2, ensure_ascii=False), "utf-8")
    new.replace(file)


def servers_of(state: dict[str, Any], scope: str) -> dict[str, Any]:
    if scope == "user":
        return state.setdefault("mcpServers", {})
    project = state.setdefault("projects", {}).setdefault(str(Path.cwd()), json.loads(json.dumps(NEW_PROJECT)))
    return project.setdefault("mcpServers", {})


def parsed(text: str) -> dict[str, Any]:
    entry = json.loads(text)
    kind = "stdio" if "command" in entry else "http" if "url" in entry else ""
    if kind == "http" and "type" not in entry:
        fail("Invalid configuration: : Invalid input")
    texts = [*entry.get("args", []), *entry.get("env", {}).values(), *entry.get("headers", {}).values()]
    if not kind or not all(isinstance(value, str) for value in texts):
        fail("Invalid configuration: : Invalid input")
    complete = (
        {"args": [], **entry} if kind == "stdio" else {**entry, "type": "http" if entry["type"] != "sse" else "sse"}
    )
    return {key: complete[key] for key in KEPT[kind] if key in complete}


def add(scope: str, name: str, text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        fail(f"Invalid name {name}. Names can only contain letters, numbers, hyphens, and underscores.")
    entry, state = parsed(text), read(STATE)
    servers = servers_of(state, scope)
    if name in servers:
        fail(f"MCP server {name} already exists in {scope} config")
    servers[name] = entry
    write(STATE, state)
    return f"Added {entry.get('type', 'stdio')} MCP server {name} to {scope} config"


def remove(scope: str, name: str) -> str:
    state = read(STATE)
    servers = servers_of(state, scope)
    if name not in servers:
        fail(f'No MCP server named "{name}" in {scope} scope')
    if "url" in servers.pop(name) and SIGN_INS.exists():
        sign_ins = read(SIGN_INS)
        sign_ins.get("mcpOAuth", {}).pop(name, None)
        write(SIGN_INS, sign_ins)
    write(STATE, state)
    return f"Removed MCP server {name} from {scope} config\nFile modified: {STATE}"


def main(mcp: str, command: str, *words: str) -> None:
    if notes := os.environ.get("STAND_IN_NOTES"):
        with open(notes, "a", encoding="utf-8") as stream:
            print(command, *words, file=stream)
    given = list(words)
    scope = "local"
    if "-s" in given:
        at = given.index("-s")
        scope = given[at + 1]
        del given[at : at + 2]
    if mcp != "mcp" or command not in ("add-json", "remove") or scope not in ("user", "local"):
        fail(f"error: unknown command '{command}'")
    if os.environ.get("STAND_IN_REFUSES") == f"{command}:{given[0]}":
        fail("Cannot change MCP servers: enterprise MCP configuration is active")
    with locked():
        print(add(scope, *given) if command == "add-json" else remove(scope, *given))
    if os.environ.get("STAND_IN_KILLS") == f"{command}:{given[0]}":
        os.kill(os.getppid(), signal.SIGKILL)


main(*sys.argv[1:])

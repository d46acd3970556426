"""The program `toolcrib`: what a client starts goes to the engine at once, everything else to the command line.

A client waits for this, so nothing is imported that it does not need.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

_FALSE = ("false", "0", "no", "off")
_WITH_VALUE = ("--config", "--color", "--profile")
_ALONE = ("--demo", "--verbose", "--quiet", "-v", "-vv", "-q")
IN_PROCESS = "--in-process"
# Commands that a running engine answers faster than a process of their own.
SHARED_COMMANDS = ("execute", "search", "list", "tools", "inspect", "discover", "warm", "doctor")


def main() -> int:
    """Run what the command line asks for; the exit code is the answer."""
    return _run(sys.argv[1:], "toolcrib")


def anygpt() -> int:
    """`anygpt mcp …`: the same under its other name."""
    if sys.argv[1:2] == ["mcp"]:
        return _run(sys.argv[2:], "anygpt mcp")
    return int(import_module("toolcrib.cli.main").anygpt())


def _run(arguments: list[str], prog: str) -> int:
    if is_stdio_server(arguments) and _may_share(os.environ):
        session = import_module("toolcrib.connector.session")
        try:
            return int(session.serve_through_engine(arguments))
        except session.Alone as reason:
            print(f"toolcrib: this client has a gateway of its own: {reason}", file=sys.stderr, flush=True)
            arguments = [*arguments, *([] if "serve" in arguments else ["serve"]), IN_PROCESS]
    elif arguments[:1] and arguments[0] in SHARED_COMMANDS and _may_share(os.environ):
        code = import_module("toolcrib.connector.command").run_in_engine(arguments)
        if code is not None:
            return int(code)
    return int(import_module("toolcrib.cli.main").main(arguments, prog=prog))


def is_stdio_server(arguments: Sequence[str]) -> bool:
    """Whether this is certainly `toolcrib serve` on pipes; whatever else it is, the command line knows better."""
    words = iter(arguments)
    commands = []
    profiles = 0
    for word in words:
        profiles += word.partition("=")[0] == "--profile"
        if word in _WITH_VALUE:
            if not next(words, None):
                return False
        elif not word.startswith("-"):
            commands.append(word)
        elif word not in _ALONE and not _has_value(word):
            return False
    if profiles > 1:
        return False
    return commands == ["serve"] or (not commands and not os.isatty(0))


def _has_value(word: str) -> bool:
    name, _, value = word.partition("=")
    return name in _WITH_VALUE and bool(value)


def _may_share(env: os._Environ[str]) -> bool:
    is_off = env.get("TOOLCRIB_ENGINE_ENABLED", "").lower() in _FALSE
    return not is_off and sys.platform != "win32"

"""What `toolcrib execute` is asked to run: a server, a tool, and arguments as JSON or as words."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toolcrib.cli.key_values import arguments_of
from toolcrib.cli.names import server_and_tool
from toolcrib.cli.surroundings import Surroundings, around
from toolcrib.config.paths import expanded
from toolcrib.errors import KEPT_AWAY, ValidationError
from toolcrib.gateway import Gateway
from toolcrib.model.items import item_schema

MOST_ARGUMENT_BYTES = 16 * 1024 * 1024

_KEY = re.compile(r"[\w.-]+:?=")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be run; `pairs` are words that the tool's schema turns into further arguments."""

    server: str
    tool: str
    arguments: dict[str, Any]
    pairs: list[str]
    is_streamed: bool
    is_confirmed: bool = False


def asked_of(options: argparse.Namespace) -> Asked:
    """What the command line says; `--args` is read, the words wait for the tool's schema."""
    server, tool, pairs = _named(options)
    arguments = _arguments(options.args, around(options))
    return Asked(server, tool, arguments, pairs, is_streamed=options.stream, is_confirmed=options.yes)


async def typed(gateway: Gateway, asked: Asked) -> Asked:
    """The same with its words among the arguments; the call itself says what is wrong with a tool nobody may run."""
    if not asked.pairs:
        return asked
    try:
        details = await gateway.get_tool_details(asked.server, asked.tool)
    except KEPT_AWAY:
        return asked
    if details is None or not details.enabled:
        return asked
    is_tool = details.kind == "tool"
    schema = details.definition.get("inputSchema") if is_tool else item_schema(details.kind, details.definition)
    typed = arguments_of(asked.pairs, asked.arguments, schema if isinstance(schema, dict) else {})
    return replace(asked, arguments=typed)


def _named(options: argparse.Namespace) -> tuple[str, str, list[str]]:
    """The server, the tool and the words after them; after SERVER:TOOL the next word is none of a tool's name."""
    pairs = list(options.pairs)
    if ":" in options.server and options.tool is not None:
        pairs.insert(0, options.tool)
        options.tool = None
    if options.tool is not None and _KEY.match(options.tool):
        raise ValidationError(f"name a tool before {options.tool}: SERVER TOOL KEY=VALUE")
    return (*server_and_tool(options), pairs)


def _arguments(given: str | None, here: Surroundings) -> dict[str, Any]:
    text = _argument_text(given, here)
    try:
        value = json.loads(text) if text.strip() else {}
        json.dumps(value, ensure_ascii=False).encode()  # half a character can be written in JSON, but not sent
    except (ValueError, RecursionError) as problem:
        raise ValidationError(
            f"--args is not JSON: {problem}", hint="""For example: --args '{"path": "README.md"}'"""
        ) from None
    if not isinstance(value, dict):
        raise ValidationError(f"--args must be a JSON object, found {type(value).__name__}")
    return value


def _argument_text(given: str | None, here: Surroundings) -> str:
    """The JSON text itself, of a file after `@`, or from standard input after `-`."""
    if given is None or not given.startswith(("@", "-")):
        return given or ""
    try:
        if given == "-":
            return here.stdin.read(MOST_ARGUMENT_BYTES) if here.stdin is not None else ""
        if given.startswith("@"):
            with ((here.folder or Path()) / expanded(given[1:])).open(encoding="utf-8-sig") as file:
                return file.read(MOST_ARGUMENT_BYTES)
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise ValidationError(f"--args {given} can't be read: {reason}") from problem
    return given

"""A made-up but lifelike catalog of any size, the same every time."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.driver import Era, synthetic
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.storage.sqlite import SqliteCatalog

TOOLS_PER_SERVER = 20
# What servers are about: the things their tools handle, and where those things live.
FIELDS = {
    "github": ("issue", "pull request", "branch", "release", "a code repository"),
    "mail": ("message", "draft", "label", "attachment", "a mailbox"),
    "calendar": ("event", "invitation", "reminder", "free slot", "a calendar"),
    "files": ("file", "folder", "link", "version", "a drive"),
    "database": ("row", "table", "index", "query plan", "a database"),
    "chat": ("channel", "message", "thread", "reaction", "a team chat"),
    "tickets": ("ticket", "sprint", "comment", "worklog", "a tracker"),
    "shop": ("order", "refund", "product", "customer", "an online shop"),
    "cloud": ("instance", "bucket", "policy", "deployment", "a cloud account"),
    "wiki": ("page", "space", "revision", "template", "a wiki"),
}
ACTIONS = {
    "create": "Create a new {thing} in {place} and return its id and address.",
    "update": "Change the given fields of one {thing} in {place}. Fields that are left out stay as they are.",
    "list": "List the {thing} entries of {place}, newest first, one page at a time.",
    "get": "Fetch one {thing} of {place} by its id, with all of its fields.",
    "delete": "Remove a {thing} from {place} for good.",
}
QUERIES = (
    "create an issue about a crash",
    "list open pull requests",
    "send a message to the team",
    "find free time next week",
    "upload a file to a folder",
    "run a query on the orders table",
    "refund a customer",
    "update a wiki page",
    "delete an old bucket",
    "get the newest release",
    "which tickets are in the sprint",
    "read the thread about the outage",
    "add a reminder for tomorrow",
    "show the attachments of a mail",
    "deploy to the cloud account",
    "who reacted to my message",
    "make a branch",
    "change the price of a product",
    "restore an earlier version of a page",
    "log the time spent on a ticket",
)


def server_names(count: int) -> list[str]:
    names = (f"{field}-{number}" if number else field for number in itertools.count() for field in FIELDS)
    return list(itertools.islice(names, count))


def tools_of(server: str) -> list[dict[str, Any]]:
    """The twenty tools of one server, all with a schema of a usual size."""
    *things, place = FIELDS[server.partition("-")[0]]
    return [_tool(action, says, thing, place) for thing in things for action, says in ACTIONS.items()]


def _tool(action: str, says: str, thing: str, place: str) -> dict[str, Any]:
    properties = {
        "id": {"type": "string", "description": f"Id of the {thing}"},
        "title": {"type": "string", "description": f"Title of the {thing}", "maxLength": 200},
        "labels": {"type": "array", "items": {"type": "string"}, "description": "Labels to set"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "Most entries"},
        "state": {"type": "string", "enum": ["open", "closed", "all"], "description": "Which state to look at"},
    }
    return {
        "name": f"{action}_{thing.replace(' ', '_')}",
        "title": f"{action.title()} {thing}",
        "description": says.format(thing=thing, place=place),
        "inputSchema": {"type": "object", "properties": properties, "required": ["id"], "additionalProperties": False},
        "annotations": {"readOnlyHint": action in {"list", "get"}, "destructiveHint": action == "delete"},
    }


def fill_home(
    home: Path, servers: int, *, live: Sequence[str] = (), era: Era = "modern", tools_each: int = TOOLS_PER_SERVER
) -> Path:
    """A configuration and a fresh catalog of that many servers under `home`; `live` ones are not yet in it.

    Every entry could be started: what does not start anything does so by choice.
    """
    command = synthetic(era)
    entry = {"command": command[0], "args": command[1:]}
    config = home / "toolcrib.json"
    # Each its own environment: entries that start the same thing would be one server with one list of tools.
    entries = {name: {**entry, "env": {"SYNTHETIC_NAME": name}} for name in [*server_names(servers), *live]}
    config.write_text(json.dumps({"discovery": {"servers": entries}}), encoding="utf-8")
    identity = Identity("modern", "2026-07-28", {"name": "made up", "version": "1"}, {"tools": {}})
    env = {"TOOLCRIB_HOME": str(home)}
    catalog = SqliteCatalog(Paths.of(env).catalog)
    for spec in load_settings(config, env=env).servers:
        if spec.name not in live:
            reading = ServerReading(identity, tuple(tools_of(spec.name)[:tools_each]))
            catalog.save_reading(spec.name, spec.launch_key, reading, time.time())
    catalog.close()
    return config

"""`read_resource` and `get_prompt` are other words for running an item of a server: they become that before anything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from toolcrib.built_in.item_definitions import GET_PROMPT, READ_RESOURCE
from toolcrib.model.caller import LIBRARY, Caller
from toolcrib.model.items import PROMPT, RESOURCE
from toolcrib.model.server import BUILT_IN_SERVER
from toolcrib.workspace.catalog_view import CatalogView


class Meant(NamedTuple):
    """What is to be run in place of a built-in tool."""

    server: str
    tool: str
    arguments: Mapping[str, Any]


def meant(
    view: CatalogView, server: str, tool: str, arguments: Mapping[str, Any], caller: Caller = LIBRARY
) -> Meant | None:
    """The item that a call of a built-in tool means; None for any other tool, one that is off, or arguments that do not fit."""
    if server != BUILT_IN_SERVER or tool not in (READ_RESOURCE, GET_PROMPT):
        return None
    own = view.find(server, tool, caller)
    of_server, given = arguments.get("server"), arguments.get("arguments", {})
    name = arguments.get("uri" if tool == READ_RESOURCE else "name")
    if own is None or not own.enabled or not isinstance(of_server, str) or not isinstance(name, str) or not name:
        return None
    if tool == READ_RESOURCE:
        return Meant(of_server, f"{RESOURCE}{name.removeprefix(RESOURCE)}", {})
    named = f"{PROMPT}{name.removeprefix(PROMPT)}"
    return Meant(of_server, named, given) if isinstance(given, Mapping) else None

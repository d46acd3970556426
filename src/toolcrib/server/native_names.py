"""What clients call prompts and resources that they use as such: each name says which server it is of, or leads to one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from toolcrib.model.caller import Caller
from toolcrib.model.items import item_title, name_on_server, own_name
from toolcrib.model.uri_template import MOST_ADDRESS_CHARACTERS
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.server.native_definitions import readable_definition
from toolcrib.workspace.catalog_view import CatalogView
from toolcrib.workspace.readable import templates_for

OWN_SCHEME = "toolcrib://"
MOST_LINKS = 1_000
MOST_CALLERS = 1_000

Table = dict[str, VisibleTool]
Who = tuple[str, str]
"""(key and session of a caller)"""


@dataclass(frozen=True, slots=True)
class Offered:
    """What a caller is offered, by the names that it is listed under."""

    prompts: Table = field(default_factory=dict)
    resources: Table = field(default_factory=dict)
    templates: Table = field(default_factory=dict)

    @classmethod
    def to(cls, view: CatalogView, caller: Caller) -> Offered:
        """All that a workspace shows to a caller, server by server in the order of the configuration."""
        offered = cls()
        for visible in _enabled(view, caller):
            match visible.tool.kind:
                case "prompt":
                    offered.prompts[_free(f"{visible.tool.server}__{_shown_name(visible)}", offered.prompts)] = visible
                case "resource":
                    offered.resources[_address(visible, offered.resources)] = visible
                case "template":
                    offered.templates[_address(visible, offered.templates)] = visible
        return offered


def listed(public: str, visible: VisibleTool) -> Mapping[str, Any]:
    """The server's own definition under the name that clients get, with the server before its title."""
    definition, server = readable_definition(visible.tool.shown), visible.tool.server
    kind = visible.tool.kind
    title = f"{server}: {item_title(definition) or own_name(kind, definition)}"
    if kind == "prompt":
        return {**definition, "name": public, "title": title}
    titled = {"title": title} if "title" in definition else {}
    named = {"name": f"{server}: {definition.get('name') or own_name(kind, definition)}"}
    return {**definition, **named, **titled, "uri" if kind == "resource" else "uriTemplate": public}


class SeenLinks:
    """Which server the addresses came from that callers saw in results."""

    def __init__(self) -> None:
        self._links: OrderedDict[Who, OrderedDict[str, str]] = OrderedDict()

    def note(self, who: Who, uri: str, server: str) -> None:
        if len(uri) > MOST_ADDRESS_CHARACTERS:
            return
        own = self._links.setdefault(who, OrderedDict())
        own[uri] = server
        own.move_to_end(uri)
        self._links.move_to_end(who)
        while len(own) > MOST_LINKS:
            own.popitem(last=False)
        while len(self._links) > MOST_CALLERS:
            self._links.popitem(last=False)

    def server_of(self, who: Who, uri: str) -> str | None:
        own = self._links.get(who)
        return None if own is None else own.get(uri)


def own_address(uri: str, view: CatalogView, caller: Caller) -> tuple[str, str] | None:
    """The server and its address in one that we made because two servers have the same; None for any other."""
    if not uri.lower().startswith(OWN_SCHEME):
        return None
    named, _, rest = uri[len(OWN_SCHEME) :].partition("/")
    # Clients may write a host in small letters; two servers may differ in nothing else.
    servers = view.servers(caller)
    alike = (name for name in servers if name.lower() == named.lower())
    server = named if named in servers else next(alike, None)
    # An address that was put in as it is has its colon still.
    return None if server is None else (server, rest if ":" in rest else unquote(rest))


def servers_by_template(uri: str, view: CatalogView, caller: Caller) -> list[str]:
    """The servers with a template that may stand for an address."""
    return [name for name in view.specs if any(one.enabled for one in templates_for(view, name, uri, caller))]


def _enabled(view: CatalogView, caller: Caller) -> Iterator[VisibleTool]:
    return (one for server in view.specs for one in view.items(server, caller).values() if one.enabled)


def _shown_name(visible: VisibleTool) -> str:
    return name_on_server(visible.tool.kind, visible.tool.name)


def _free(name: str, taken: Mapping[str, object]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _address(visible: VisibleTool, taken: Mapping[str, object]) -> str:
    """The address as the server has it; of the second server with the same one, an address of our own."""
    own = _shown_name(visible)
    if own not in taken:
        return own
    written = own if visible.tool.kind == "template" else quote(own, safe="")
    return f"{OWN_SCHEME}{visible.tool.server}/{written}"

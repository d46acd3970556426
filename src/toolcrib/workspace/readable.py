"""Addresses that a server may be asked for, whether or not it listed them: links in results stay readable."""

from __future__ import annotations

from dataclasses import replace

from toolcrib.model.caller import LIBRARY, Caller
from toolcrib.model.items import RESOURCE, spellings
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.model.uri_template import matches
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.workspace.catalog_view import CatalogView


def found(view: CatalogView, server: str, tool: str, caller: Caller = LIBRARY) -> VisibleTool | None:
    """What a server has under this name; any address of a server that has resources counts as one of them."""
    visible = view.find(server, tool, caller)
    if visible is not None or not tool.startswith(RESOURCE):
        return visible
    return readable(view, server, tool.removeprefix(RESOURCE), caller)


def readable(view: CatalogView, server: str, uri: str, caller: Caller = LIBRARY) -> VisibleTool | None:
    """A resource that is not in the server's list, as the rules leave it; None where the server has no resources."""
    spec = view.specs.get(server)
    if spec is None or not offers_resources(view, server):
        return None
    resource = _resource(server, uri)
    verdicts = [_verdict(view, spec, spelling, caller) for spelling in spellings(uri)]
    # However it is written, it must be allowed: `file:///work/../etc/x` is no file of `/work`.
    decisive = next((one for one in verdicts if not one.enabled), verdicts[0])
    return replace(decisive, tool=resource, upstream_name=uri)


def offers_resources(view: CatalogView, server: str) -> bool:
    """Whether a server says that it has resources, or was seen to have some."""
    identity = view.identity(server)
    declared = identity is not None and "resources" in identity.capabilities
    return declared or any(one.tool.kind != "prompt" for one in view.items(server).values())


def templates_for(view: CatalogView, server: str, uri: str, caller: Caller = LIBRARY) -> list[VisibleTool]:
    """The templates of a server that may stand for this address, with those that may not be used."""
    items = view.items(server, caller).values()
    return [one for one in items if one.tool.kind == "template" and matches(one.upstream_name, uri)]


def _verdict(view: CatalogView, spec: ServerSpec, uri: str, caller: Caller) -> VisibleTool:
    """What decides about an address: whatever denies it, else whatever allows it."""
    listed = view.find(spec.name, RESOURCE + uri, caller)
    written = listed or view.judged(_resource(spec.name, uri), spec, caller)
    candidates = [written, *templates_for(view, spec.name, uri, caller)]
    denied = [one for one in candidates if not one.enabled and view.is_denied(spec, one.tool.name)]
    allowed = [one for one in candidates if one.enabled]
    return next(iter([*denied, *allowed]), written)


def _resource(server: str, uri: str) -> Tool:
    return Tool.item(server, "resource", {"uri": uri, "name": uri})

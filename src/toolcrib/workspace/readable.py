"""Addresses that a server may be asked for, whether or not it listed them: links in results stay readable."""

from __future__ import annotations

from dataclasses import replace

from toolcrib.model.address_spellings import spellings
from toolcrib.model.caller import LIBRARY, Caller
from toolcrib.model.items import RESOURCE
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.model.uri_template import MOST_ADDRESS_CHARACTERS, matches
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.workspace.catalog_view import CatalogView


def found(view: CatalogView, server: str, tool: str, caller: Caller = LIBRARY) -> VisibleTool | None:
    """What a server has under this name; any address of a server that has resources counts as one of them."""
    visible = view.find(server, tool, caller)
    if visible is None and tool.startswith(RESOURCE):
        return readable(view, server, tool.removeprefix(RESOURCE), caller)
    if visible is None or visible.spec is None or visible.tool.kind != "resource" or not visible.enabled:
        return visible
    templates = (one for uri in spellings(visible.upstream_name) for one in templates_for(view, server, uri, caller))
    denied = next((one for one in templates if _is_denied(view, visible.spec, one)), None)
    return visible if denied is None else replace(visible, availability=denied.availability)


def readable(view: CatalogView, server: str, uri: str, caller: Caller = LIBRARY) -> VisibleTool | None:
    """A resource that is not in the server's list, as the rules leave it; None where the server has no resources, or none so long."""
    spec = view.specs.get(server)
    if spec is None or len(uri) > MOST_ADDRESS_CHARACTERS or not offers_resources(view, server):
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
    denied = [one for one in candidates if _is_denied(view, spec, one)]
    allowed = [one for one in candidates if one.enabled]
    return next(iter([*denied, *allowed]), written)


def _is_denied(view: CatalogView, spec: ServerSpec, one: VisibleTool) -> bool:
    return not one.enabled and view.is_denied(spec, one.tool.name)


def _resource(server: str, uri: str) -> Tool:
    return Tool.item(server, "resource", {"uri": uri, "name": uri})

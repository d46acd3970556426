"""Addresses that a server may be asked for, whether or not it listed them: links in results stay readable."""

from __future__ import annotations

from collections.abc import Iterable
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
    ways = spellings(visible.upstream_name)
    templates = [one for uri in ways for one in templates_for(view, server, uri, caller)]
    denied = next((one for one in templates if _is_denied(view, visible.spec, one, caller)), None)
    if denied is not None:
        return replace(visible, availability=denied.availability)
    return _asked_about(visible, [*templates, *(view.judged(_resource(server, uri), visible.spec) for uri in ways[1:])])


def readable(view: CatalogView, server: str, uri: str, caller: Caller = LIBRARY) -> VisibleTool | None:
    """A resource that is not in the server's list, as the rules leave it; None where the server has no resources, or none so long."""
    spec = view.spec_for(server, caller)
    if spec is None or len(uri) > MOST_ADDRESS_CHARACTERS or not offers_resources(view, server):
        return None
    resource = _resource(server, uri)
    verdicts = [_verdict(view, spec, spelling, caller) for spelling in spellings(uri)]
    # However it is written, it must be allowed: `file:///work/../etc/x` is no file of `/work`.
    decisive = next((one for one in verdicts if not one.enabled), verdicts[0])
    return _asked_about(replace(decisive, tool=resource, upstream_name=uri), verdicts)


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
    denied = [one for one in candidates if _is_denied(view, spec, one, caller)]
    # What is listed is judged as itself, as it is under its own name; a template decides about what is not.
    allowed = [one for one in candidates if one.enabled] if listed is None else []
    return _asked_about(next(iter([*denied, *allowed]), written), candidates)


def _asked_about(chosen: VisibleTool, others: Iterable[VisibleTool]) -> VisibleTool:
    """It is confirmed first where a rule wants that of any way to write it, or of a template that stands for it."""
    return replace(chosen, confirm=True) if any(one.confirm for one in others) else chosen


def _is_denied(view: CatalogView, spec: ServerSpec, one: VisibleTool, caller: Caller) -> bool:
    return not one.enabled and view.is_denied(spec, one.tool.name, caller.rights)


def _resource(server: str, uri: str) -> Tool:
    return Tool.item(server, "resource", {"uri": uri, "name": uri})

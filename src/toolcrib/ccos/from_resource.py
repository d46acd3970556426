"""A server's resource to its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.ccos.from_tool import manifest_of, status_of
from toolcrib.ccos.manifest import Manifest
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool

_TOLD = ("title", "description", "uri", "mimeType")


def resource_to_manifest(resource: Mapping[str, Any], config: ServerSpec) -> Manifest:
    """`mcp.<server>.resource.<name>`, which its provider knows as `resource:<name>`; what nobody has approved is pending."""
    names = (resource.get(key) for key in ("name", "uri"))
    name = next((text for text in names if isinstance(text, str) and text), "unnamed")
    # A resource is only ever read.
    definition = {key: resource[key] for key in _TOLD if key in resource} | {"annotations": {"readOnlyHint": True}}
    tool = Tool(config.name, f"resource.{name}", definition)
    return manifest_of(tool, config, status=status_of(config), upstream_name=f"resource:{name}")

"""What the discovery service tells of a tool beyond its definition: types, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from toolcrib.calls.introspect import Introspector, chosen_arguments, introspect_output
from toolcrib.discovery.protocols import CallByName
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.model.tool_naming import public_name
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.rtfs.published_form import published_form
from toolcrib.rtfs.types import TypeExpr
from toolcrib.schema.convert import convert
from toolcrib.workspace.catalog_view import CatalogView


def published_type(schema: Any, warn: Callable[[str], None]) -> TypeExpr:
    """Fulfils `SchemaTypes`: the type as it is published; what can't be read is :any, with a warning."""
    converted = convert(schema)
    for warning in converted.warnings:
        warn(warning)
    return published_form(converted.type)


class OutputSchemas:
    """Fulfils `OutputIntrospector`: for configured servers' tools what the gateway knows or finds out, and keeps."""

    def __init__(
        self, view: CatalogView, introspector: Introspector, inputs: Callable[[], Mapping[str, Mapping[str, Any]]]
    ) -> None:
        self._view = view
        self._introspector = introspector
        self._inputs = inputs

    async def output_schema(
        self, config: ServerSpec, definition: Mapping[str, Any], call: CallByName
    ) -> Mapping[str, Any] | None:
        tool = Tool.from_mcp(config.name, definition)
        visible = self._visible(config, tool)
        if visible is not None:
            return await self._introspector.output_schema(visible)
        given = chosen_arguments(self._inputs(), config.name, [tool.name])
        return await introspect_output(tool, partial(call, tool.name), given)

    def _visible(self, config: ServerSpec, tool: Tool) -> VisibleTool | None:
        if self._view.specs.get(config.name) != config:
            return None
        return self._view.find(config.name, public_name(tool.name, config))

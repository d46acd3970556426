"""From what a server lists to tools with types; what was learnt by calling is kept beside the definition."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from toolcrib.calls.chain import CallTool
from toolcrib.discovery.protocols import OutputIntrospector, SchemaTypes
from toolcrib.discovery.results import DiscoveredMCPTool
from toolcrib.errors import ToolcribError
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.caller import Caller
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool

log = logging.getLogger(__name__)

CALLER = Caller("discovery", "discovery", "discovery")
_ANYTHING = True

Record = Mapping[str, Any]
"""A tool as it is cached: its definition, and an output schema where one was learnt."""


class ToolConversion:
    """Makes records of definitions and tools of records; without a converter the types stay unknown."""

    def __init__(self, types: SchemaTypes | None = None, introspector: OutputIntrospector | None = None) -> None:
        self._types = types
        self._introspector = introspector

    def records(self, definitions: Iterable[Mapping[str, Any]]) -> list[Record]:
        return [{"definition": definition} for definition in definitions]

    async def learn(self, records: Iterable[Record], spec: ServerSpec, call_tool: CallTool) -> list[Record]:
        """The records with output schemas learnt from one call each, where the server gave none."""
        return [await self._learn(record, spec, call_tool) for record in records]

    def tools(self, records: Iterable[Record]) -> list[DiscoveredMCPTool]:
        """The tools of the records; one that is no tool is left out."""
        return [self._tool(record) for record in records if _is_tool(record)]

    async def _learn(self, record: Record, spec: ServerSpec, call_tool: CallTool) -> Record:
        definition = record["definition"]
        if self._introspector is None or definition.get("outputSchema"):
            return record
        try:
            learnt = await self._introspector.output_schema(spec, definition, partial(_call, call_tool, spec))
        except ToolcribError as error:
            log.info("%s: what %s returns stays unknown: %s", spec.name, definition.get("name"), error.message)
            return record
        return record if learnt is None else {**record, "output_schema_json": learnt}

    def _tool(self, record: Record) -> DiscoveredMCPTool:
        definition = record["definition"]
        tool = Tool.from_mcp("", definition)
        given = definition.get("outputSchema")
        output = given if isinstance(given, Mapping) else record.get("output_schema_json")
        return DiscoveredMCPTool(
            tool_name=tool.name,
            description=tool.description,
            input_schema=self._type(definition.get("inputSchema", _ANYTHING), tool.name),
            output_schema=None if output is None else self._type(output, tool.name),
            input_schema_json=tool.input_schema,
            output_schema_json=output,
            definition=definition,
        )

    def _type(self, schema: Any, tool: str) -> object | None:
        if self._types is None:
            return None
        try:
            return self._types(schema, lambda warning: log.warning("a schema of %s: %s", tool, warning))
        except (ToolcribError, ValueError, TypeError, RecursionError) as error:
            log.warning("a schema of %s is taken as anything: %s", tool, error)
            return self._types(_ANYTHING, log.debug)


def _is_tool(record: Record) -> bool:
    definition = record.get("definition")
    return isinstance(definition, Mapping) and isinstance(definition.get("name"), str) and bool(definition["name"])


async def _call(call_tool: CallTool, spec: ServerSpec, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
    return await call_tool(ToolCall(spec.name, tool, arguments, msgspec.json.encode(arguments), CALLER))

"""External endpoints as Praxis files name them: their tools under names of their own, each bound by a contract."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolcrib.errors import ServerNotFound, ValidationError
from toolcrib.model.call import ToolResult
from toolcrib.model.server import REMOTE_MCP, RemoteLaunch, ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.model.tool_naming import SUFFIX

NO_TEXT = "the tool gave no text output"

ParameterType = Literal["string", "number", "boolean"]
Execute = Callable[[str, str, Mapping[str, Any]], Awaitable[ToolResult]]

_TYPES: Mapping[str, ParameterType] = {"integer": "number", "number": "number", "boolean": "boolean"}


@dataclass(frozen=True, slots=True)
class ContractParameter:
    """One parameter in the three types contracts know; the tool's own schema is what arguments are checked against."""

    name: str
    type: ParameterType
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class ToolContract:
    """How a tool of an external endpoint is executed: by which engine, under which name, at which address."""

    name: str
    engine_spec: Mapping[str, str]
    engine: str = REMOTE_MCP
    params: tuple[ContractParameter, ...] = ()
    secrets: tuple[str, ...] = ()


def contract_for(definition: Mapping[str, Any], spec: ServerSpec) -> ToolContract:
    """The contract of a tool, whose definition is given as its server lists it."""
    tool = Tool.from_mcp(spec.name, definition)
    launch = spec.launch
    if not spec.contract or not isinstance(launch, RemoteLaunch):
        raise ValidationError(
            f"{spec.name} is not an external endpoint", hint="Contracts are for external endpoints only."
        )
    return ToolContract(
        tool.name,
        {"address": launch.url},
        params=tuple(contract_parameters(tool.input_schema)),
        secrets=tuple(sorted(launch.headers)),
    )


def contract_parameters(schema: Mapping[str, Any]) -> Iterator[ContractParameter]:
    """The properties of an input schema; whatever is neither number nor boolean is passed as a string."""
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping):
        return
    needed = set(filter(_is_text, required)) if isinstance(required, list) else set()
    for name, schema_of_it in properties.items():
        if isinstance(schema_of_it, Mapping):
            kind, description = schema_of_it.get("type"), schema_of_it.get("description")
            type = _TYPES.get(kind, "string") if isinstance(kind, str) else "string"
            yield ContractParameter(name, type, description if isinstance(description, str) else "", name in needed)


class RemoteMcpEngine:
    """Executes contracts through the gateway: the endpoint is the configured one, with its headers and connection.

    `execute` runs a tool of a server by its public name and raises what kept it from running.
    """

    name = REMOTE_MCP

    def __init__(self, specs: Callable[[], Mapping[str, ServerSpec]], execute: Execute) -> None:
        self._specs = specs
        self._execute = execute

    async def execute(self, contract: ToolContract, arguments: Mapping[str, Any]) -> str:
        """The first text of the tool's answer; a tool that failed raises with its words."""
        if contract.engine != self.name:
            raise ValidationError(f"the engine {self.name} can't execute a contract for {contract.engine!r}")
        address = contract.engine_spec.get("address")
        if not address:
            raise ValidationError("the contract names no address", hint="engine_spec needs an 'address'.")
        result = await self._execute(self._server_at(address), f"{contract.name}{SUFFIX}", arguments)
        texts = (block.get("text") for block in result.content if block.get("type") == "text")
        return str(next(texts, NO_TEXT))

    def _server_at(self, address: str) -> str:
        for name, spec in self._specs().items():
            if spec.contract and isinstance(spec.launch, RemoteLaunch) and spec.launch.url == address:
                return name
        raise ServerNotFound("no external endpoint has this address", hint="Name it in external_mcp_endpoints.")


def _is_text(value: object) -> bool:
    return isinstance(value, str)

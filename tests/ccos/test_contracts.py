"""External endpoints of Praxis files: names, contracts, stand-ins, and how calls reach the endpoint."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import FakeServer, FakeServers, text, tool
from toolcrib import RemoteMcpEngine, ToolContract, contract_engine, contract_for, load_settings, open_gateway
from toolcrib.ccos.contracts import ContractParameter, contract_parameters
from toolcrib.errors import ServerConnectionError, ServerNotFound, ToolExecutionError, ValidationError
from toolcrib.model.call import ToolResult
from toolcrib.model.server import RemoteLaunch, ServerSpec
from toolcrib.model.tool import Tool
from toolcrib.model.tool_naming import external_tool, fallback_tools
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, RpcError

ADDRESS = "http://localhost:3000/mcp"
ENDPOINT = ServerSpec("localhost-3000", RemoteLaunch(ADDRESS, {"X-Key": "${KEY}"}), contract="remote-mcp")
AGENT = """
agent:
  name: "praxis-agent-autodiscovery"
  version: "1.0.0"
  {key}:
    - "http://localhost:3000/mcp"
    - {{name: wiki, url: "http://localhost:3001/mcp"}}
"""


def settings_with(tmp_path: Path, key: str = "external_mcp_endpoints") -> Any:
    (tmp_path / "agent.yaml").write_text(AGENT.format(key=key), "utf-8")
    own = tmp_path / "toolcrib.yaml"
    own.write_text(f"discovery:\n  sources:\n    - {{type: praxis, path: {tmp_path / 'agent.yaml'}}}\n", "utf-8")
    return load_settings(own)


@pytest.mark.parametrize("key", ["external_mcp_endpoints", "external_mcp_servers"])
async def test_tools_of_an_endpoint_are_offered_under_names_of_their_own(tmp_path: Path, key: str) -> None:
    endpoint = FakeServer(
        "localhost-3000",
        [tool("echo", "Say it again.")],
        tools={"echo": lambda given: text(str(given))},
        own_name="Parrot Server",
    )
    wiki = FakeServer("wiki", [tool("echo", "Say it too.")])

    async with open_gateway(settings=settings_with(tmp_path, key), opener=FakeServers(endpoint, wiki)) as gateway:
        listed = await gateway.list_tools("localhost-3000")
        assert [(found.name, found.summary) for found in listed] == [("echo_external", "Say it again.")]
        details = await gateway.get_tool_details("localhost-3000", "echo_external")
        assert details is not None
        assert details.description == "Say it again. (via Parrot Server)"
        # Two endpoints may have a tool of the same name: each has it on its own server.
        assert [found.name for found in await gateway.list_tools("wiki")] == ["echo_external"]
        hits = await gateway.search_tools("say it again")
        assert "echo_external" in {hit.tool for hit in hits}
        result = await gateway.execute_tool("localhost-3000", "echo_external", {"a": 1})
        assert result.value == "{'a': 1}"


async def test_an_endpoint_that_fails_has_stand_ins_that_no_search_finds_and_the_others_work(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wiki = FakeServer("wiki", [tool("read_page", "Read a page of the wiki.")])

    with caplog.at_level(logging.WARNING):
        async with open_gateway(settings=settings_with(tmp_path), opener=FakeServers(wiki)) as gateway:
            listed = await gateway.list_tools("localhost-3000")
            hits = await gateway.search_tools("read a file from external filesystem")
            found = await gateway.list_tools("wiki")

    assert [(one.name, one.tags) for one in listed] == [
        ("read_file_external", ("fallback",)),
        ("write_file_external", ("fallback",)),
        ("list_directory_external", ("fallback",)),
        ("create_directory_external", ("fallback",)),
    ]
    assert all("assumed" in one.summary for one in listed)
    assert {hit.server for hit in hits} <= {"wiki", "toolcrib"}
    assert [one.name for one in found] == ["read_page_external"]
    assert "fallback tools are offered instead" in caplog.text


async def test_stand_ins_are_replaced_once_the_endpoint_can_be_read(tmp_path: Path) -> None:
    async def refuse() -> None:
        raise ServerConnectionError("not yet", server="localhost-3000")

    endpoint = FakeServer("localhost-3000", [tool("echo")], on_open=refuse)
    async with open_gateway(settings=settings_with(tmp_path), opener=FakeServers(endpoint)) as gateway:
        assert "read_file_external" in {one.name for one in await gateway.list_tools("localhost-3000")}
        endpoint.on_open = None

        refused = await gateway.execute_tool("localhost-3000", "read_file_external", {"path": "/x"})

        assert refused.error is not None
        assert refused.error.code == "TOOL_NOT_FOUND"
        assert [one.name for one in await gateway.list_tools("localhost-3000")] == ["echo_external"]
        assert (await gateway.execute_tool("localhost-3000", "echo_external", {})).success


async def test_a_stand_in_is_sent_to_the_endpoint_like_any_tool(tmp_path: Path) -> None:
    def no_list(_: dict[str, Any]) -> dict[str, Any]:
        raise RpcError(INTERNAL_ERROR, "no list today")

    endpoint = FakeServer(
        "localhost-3000", methods={"tools/list": no_list}, tools={"read_file": lambda given: text(given["path"])}
    )
    async with open_gateway(settings=settings_with(tmp_path), opener=FakeServers(endpoint)) as gateway:
        assert len(await gateway.list_tools("localhost-3000")) == 4
        result = await gateway.execute_tool("localhost-3000", "read_file_external", {"path": "/x"})
        refused = await gateway.execute_tool("localhost-3000", "read_file_external", {})

    assert result.value == "/x"
    assert refused.error is not None
    assert refused.error.code == "TOOL_VALIDATION_ERROR"


async def test_only_external_endpoints_have_stand_ins() -> None:
    assert fallback_tools(replace(ENDPOINT, contract="")) == []
    assert len(fallback_tools(ENDPOINT)) == 4


def test_an_external_tool_keeps_its_schemas_and_its_fingerprint() -> None:
    own = Tool.from_mcp("localhost-3000", {**tool("echo"), "outputSchema": {"type": "object"}, "annotations": {"x": 1}})

    public = external_tool(own, ENDPOINT)

    assert public.name == "echo_external"
    assert (public.input_schema, public.output_schema, public.annotations) == (
        own.input_schema,
        own.output_schema,
        own.annotations,
    )
    assert public.fingerprint == own.fingerprint


def test_a_contract_names_engine_tool_and_address_and_no_secret() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}

    contract = contract_for({"name": "read", "inputSchema": schema}, ENDPOINT)

    assert contract == ToolContract(
        "read",
        {"address": ADDRESS},
        engine="remote-mcp",
        params=(ContractParameter("path", "string", "", required=True),),
        secrets=("X-Key",),
    )
    with pytest.raises(ValidationError):
        contract_for({"name": "read"}, replace(ENDPOINT, contract=""))


@pytest.mark.parametrize(
    ("schema", "type"),
    [
        ({"type": "string"}, "string"),
        ({"type": "integer"}, "number"),
        ({"type": "number"}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "array"}, "string"),
        ({"type": "object"}, "string"),
        ({"type": ["integer", "null"]}, "string"),
        ({}, "string"),
    ],
)
def test_parameters_have_one_of_three_types(schema: dict[str, Any], type: str) -> None:
    described = {**schema, "description": "what it is"}

    assert list(contract_parameters({"properties": {"x": described, "y": "no schema"}})) == [
        ContractParameter("x", type, "what it is")  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize(
    "schema", [{}, {"properties": 3}, {"properties": {"x": {"description": 3}}, "required": "x"}, {"required": [1]}]
)
def test_a_schema_that_makes_no_sense_has_no_parameters_or_plain_ones(schema: dict[str, Any]) -> None:
    assert all(one.type == "string" and not one.required for one in contract_parameters(schema))


class Remote:
    """Remembers what the engine runs, and answers with what it was given."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self._result = result
        self.calls: list[tuple[str, str, dict[str, Any]]] = []

    async def __call__(self, server: str, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        self.calls.append((server, tool, dict(arguments)))
        return ToolResult.of(self._result)


CONTRACT = ToolContract("read_file", {"address": ADDRESS})


async def test_the_engine_runs_a_contract_at_the_configured_endpoint_with_the_arguments_unchanged() -> None:
    remote = Remote(
        {"content": [{"type": "image", "data": ""}, {"type": "text", "text": "first"}, {"type": "text", "text": "x"}]}
    )
    engine = RemoteMcpEngine(lambda: {"localhost-3000": ENDPOINT}, remote)

    assert engine.name == "remote-mcp"
    assert await engine.execute(CONTRACT, {"path": ["/x"]}) == "first"
    assert remote.calls == [("localhost-3000", "read_file_external", {"path": ["/x"]})]


async def test_an_answer_without_text_says_so() -> None:
    engine = RemoteMcpEngine(lambda: {"localhost-3000": ENDPOINT}, Remote({"content": []}))

    assert await engine.execute(CONTRACT, {}) == "the tool gave no text output"


async def test_a_contract_that_cannot_be_run_is_refused() -> None:
    engine = RemoteMcpEngine(lambda: {"localhost-3000": ENDPOINT}, Remote({"content": []}))

    with pytest.raises(ValidationError, match="address"):
        await engine.execute(ToolContract("x", {}), {})
    with pytest.raises(ServerNotFound):
        await engine.execute(ToolContract("x", {"address": "http://elsewhere/"}), {})
    with pytest.raises(ValidationError, match="engine"):
        await engine.execute(ToolContract("x", {"address": ADDRESS}, engine="docker"), {})


async def test_a_gateway_runs_contracts_and_raises_what_kept_one_from_running(tmp_path: Path) -> None:
    def broken(_: dict[str, Any]) -> dict[str, Any]:
        return {**text("the disk is full"), "isError": True}

    endpoint = FakeServer(
        "localhost-3000", [tool("echo"), tool("save")], tools={"echo": lambda given: text(str(given)), "save": broken}
    )
    async with open_gateway(settings=settings_with(tmp_path), opener=FakeServers(endpoint)) as gateway:
        engine = contract_engine(gateway)

        assert await engine.execute(ToolContract("echo", {"address": ADDRESS}), {"a": 1}) == "{'a': 1}"
        with pytest.raises(ToolExecutionError, match="the disk is full"):
            await engine.execute(ToolContract("save", {"address": ADDRESS}), {})
        with pytest.raises(ToolExecutionError) as unknown:
            await engine.execute(ToolContract("gone", {"address": ADDRESS}), {})
        assert unknown.value.details["reason"] == "TOOL_NOT_FOUND"


def test_the_tools_that_stand_in_ask_for_the_parameters_that_were_promised() -> None:
    endpoint = ENDPOINT

    assert {one.name: one.input_schema["required"] for one in fallback_tools(endpoint)} == {
        "read_file": ["path"],
        "write_file": ["path", "content"],
        "list_directory": ["path"],
        "create_directory": ["path"],
    }

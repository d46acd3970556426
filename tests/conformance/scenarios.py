"""What a program that uses Toolcrib's library does in each scenario of the client suites."""

from __future__ import annotations

import asyncio
import json
import os
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2

from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.engine.open_gateway import open_gateway
from toolcrib.engine.sign_ins import SignIns
from toolcrib.errors import SignInRequired, ToolcribError
from toolcrib.gateway import Gateway
from toolcrib.model.asking import Question

SERVER = "tested"
AT_ONCE = 4  # the suites start all scenarios together, some of them with a clock running
MOST_SIGN_INS = 3
PROBE_SECONDS = 30
METADATA = "https://conformance-test.local/client-metadata.json"
CAPABILITIES = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
CREDENTIALS = {
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "privateKey": "private_key_pem",
    "signingAlgorithm": "signing_algorithm",
}
STAND_INS = {"string": "x", "integer": 0, "number": 0, "boolean": False, "object": {}, "array": [], "null": None}


@dataclass
class Scenario:
    """One scenario, the server that it has started for it, and a home of its own."""

    name: str
    url: str
    context: Mapping[str, Any]
    home: Path
    sign_ins: int = 0
    going: list[asyncio.Task[Any]] = field(default_factory=list)

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "TOOLCRIB_HOME": str(self.home)}

    async def config(self) -> Path:
        entry: dict[str, Any] = {"url": self.url, "type": "http"}
        if "client_id" in self.context:
            given = {key: self.context[name] for key, name in CREDENTIALS.items() if name in self.context}
            is_alone = self.name.startswith("auth/client-credentials")
            alone = {"grant": "client_credentials", "issuer": await _issuer(self.url)} if is_alone else {}
            entry["oauth"] = {**given, **alone}
        oauth = {"clientMetadataUrl": METADATA, "loginTimeout": 20, "store": "file"}
        self.home.mkdir(parents=True)
        file = self.home / "toolcrib.json"
        # A busy machine must not make us take the server for one of the older revisions.
        settings = {"servers": {SERVER: entry}, "maxRetries": 0, "probeTimeout": PROBE_SECONDS, "oauth": oauth}
        file.write_text(json.dumps({"discovery": settings}), encoding="utf-8")
        return file

    async def run(self) -> None:
        config = await self.config()
        async with open_gateway(config, env=self.env, read_due=False) as gateway:
            await self._with_sign_in(config, lambda: gateway.read_server(SERVER))
            await DONE.get(self.name, call_every_tool)(self, gateway)

    async def call(self, gateway: Gateway, tool: str, arguments: Mapping[str, Any]) -> None:
        async def once() -> None:
            outcome = await gateway.execute_tool(SERVER, tool, arguments, ask=self.answered, capabilities=CAPABILITIES)
            if outcome.error is not None and outcome.error.code == SignInRequired.code:
                raise SignInRequired(
                    outcome.error.message, server=SERVER, scopes=outcome.error.details.get("scopes", "")
                )

        await self._with_sign_in(self.home / "toolcrib.json", once)

    async def _with_sign_in(self, config: Path, attempt: Callable[[], Awaitable[None]]) -> None:
        """As a person would: sign in where the error says so, and try again."""
        while True:
            try:
                return await attempt()
            except SignInRequired as needed:
                if self.sign_ins >= MOST_SIGN_INS:
                    raise
                self.sign_ins += 1
                settings = load_settings(config, env=self.env)
                sign_ins = SignIns(settings, Paths.of(self.env), self.env)
                await sign_ins.sign_in(settings.servers[0], self, scopes=needed.scopes)

    # -- the person in front of the browser

    async def show(self, url: str, _take: Callable[[str], bool]) -> None:
        self.going.append(asyncio.create_task(_visit(url)))

    async def show_code(self, _url: str, _code: str) -> None:
        return

    async def answered(self, question: Question) -> Mapping[str, Any]:
        """Opens what they are asked to open, takes what a form proposes, and says yes."""
        params = json.loads(question.params)
        if question.kind != "elicitation":
            return {"roots": []}
        if question.is_url:
            await self.show(params["url"], bool)
            return {"action": "accept"}
        fields = params.get("requestedSchema", {}).get("properties", {})
        content = {name: field["default"] for name, field in fields.items() if "default" in field}
        return {"action": "accept", "content": {**content, **({"confirmed": True} if "confirmed" in fields else {})}}


async def _visit(url: str) -> None:
    async with httpx2.AsyncClient() as browser:
        response = await browser.get(url)
        if "location" in response.headers:
            await browser.get(response.headers["location"])


async def _issuer(url: str) -> str:
    """What a person who has credentials knows: who gave them."""
    async with httpx2.AsyncClient() as http:
        described = await http.get(urljoin(url, "/.well-known/oauth-protected-resource/mcp"))
    return str(described.json()["authorization_servers"][0])


# -- what is done in each scenario


async def call_every_tool(scenario: Scenario, gateway: Gateway) -> None:
    for tool in await gateway.list_tools(SERVER):
        visible = gateway.workspace.view.find(SERVER, tool.name)
        assert visible is not None
        schema = visible.tool.input_schema
        kinds = {name: value.get("type") for name, value in schema.get("properties", {}).items()}
        await scenario.call(
            gateway, tool.name, {name: STAND_INS.get(kinds.get(name), "x") for name in schema.get("required", ())}
        )


async def add_numbers(scenario: Scenario, gateway: Gateway) -> None:
    await scenario.call(gateway, "add_numbers", {"a": 5, "b": 3})


async def given_calls(scenario: Scenario, gateway: Gateway) -> None:
    for call in scenario.context.get("toolCalls", ()):
        await scenario.call(gateway, call["name"], call.get("arguments") or {})


async def echo_a_schema(scenario: Scenario, gateway: Gateway) -> None:
    visible = gateway.workspace.view.find(SERVER, "json_schema_2020_12_tool")
    assert visible is not None
    await scenario.call(gateway, "json_schema_echo", {"schema": visible.tool.definition["inputSchema"]})


async def answer_rounds(scenario: Scenario, gateway: Gateway) -> None:
    for name in ("echo_state", "unrelated", "no_state", "no_result_type"):
        await scenario.call(gateway, f"test_mrtr_{name}", {})


async def everything_listed(scenario: Scenario, gateway: Gateway) -> None:
    await call_every_tool(scenario, gateway)
    spec = gateway.workspace.view.specs[SERVER]
    for resource in await gateway.discovery_service.discover_resources(spec):
        await scenario.call(gateway, f"resource:{resource['uri']}", {})
    for prompt in await gateway.discovery_service.discover_prompts(spec):
        await scenario.call(gateway, f"prompt:{prompt['name']}", {})


DONE: Mapping[str, Callable[[Scenario, Gateway], Awaitable[None]]] = {
    "tools_call": add_numbers,
    "request-metadata": add_numbers,
    "http-custom-headers": given_calls,
    "http-standard-headers": everything_listed,
    "json-schema-2020-12-preservation": echo_a_schema,
    "sep-2322-client-request-state": answer_rounds,
}


@asynccontextmanager
async def client_under_test(folder: Path) -> AsyncIterator[int]:
    """The port on which `client.py` hands over scenarios, while they are run here."""
    turns = asyncio.Semaphore(AT_ONCE)
    homes = iter(range(1_000))

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        given = json.loads(await reader.readline())
        scenario = Scenario(given["name"], given["url"], given["context"], folder / str(next(homes)))
        code, said = 0, ""
        async with turns:
            try:
                await scenario.run()
            except ToolcribError as error:
                code, said = 1, f"{error.code}: {error.message}"
            except Exception:  # noqa: BLE001 - the suite keeps what its client said
                code, said = 2, traceback.format_exc()
        writer.write(json.dumps({"code": code, "said": said}).encode() + b"\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(run, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]

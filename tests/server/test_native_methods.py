"""Prompts and resources as clients use them without the five tools: our stdio session and the SDK's server beside it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import mcp_types as types
import pytest

from tests.fakes import MODERN, FakeServer, tool
from tests.gateways import counter, read_counter
from tests.items import IMAGE, PICTURE, README, library
from tests.server.stdio_peers import OurPeer, SdkPeer, sdk_peer
from toolcrib import Gateway
from toolcrib.model.caller import Rights
from toolcrib.model.tool_rule import ToolRule
from toolcrib.server.session_journal import Progress
from toolcrib.wire.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND

ERAS = ("modern", "legacy")
FACES = ("stdio", "sdk")
PLAIN = FakeServer("web", [tool("fetch")])
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
INFO = {"name": "test", "version": "1"}


@dataclass
class NativeClient:
    """A client of one era that uses prompts and resources as such."""

    peer: OurPeer | SdkPeer
    era: str
    number: int = 0

    async def raw(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        given = {"_meta": META, **params} if self.era == "modern" else params
        await self.peer.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": given})
        return next(answer for answer in self.peer.answers if answer.get("id") == self.number)

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        answer = await self.raw(method, **params)
        assert "result" in answer, answer
        return answer["result"]

    async def refusal(self, method: str, **params: Any) -> dict[str, Any]:
        return (await self.raw(method, **params))["error"]

    async def hello(self) -> dict[str, Any]:
        """What the gateway declares."""
        if self.era == "modern":
            declared = (await self.ask("server/discover"))["capabilities"]
            return {name: value for name, value in declared.items() if name != "extensions"}
        answer = await self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=INFO)
        return answer["capabilities"]

    async def all(self, method: str, member: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            page = await self.ask(method, **cursor)
            found += page[member]
            if "nextCursor" not in page:
                return found
            cursor = {"cursor": page["nextCursor"]}


Connect = Callable[..., Any]


def connector(face: str, era: str) -> Connect:
    @asynccontextmanager
    async def connected(gateway: Gateway) -> AsyncIterator[NativeClient]:
        if face == "stdio":
            yield NativeClient(OurPeer(gateway), era)
            return
        async with sdk_peer(gateway) as peer:
            yield NativeClient(peer, era)

    return connected


@pytest.fixture(params=[("stdio", "modern"), ("sdk", "legacy")], ids="-".join)
def connect(request: pytest.FixtureRequest) -> Connect:
    """A client at each face, once of each era."""
    return connector(*request.param)


@pytest.fixture(params=[(face, era) for face in FACES for era in ERAS], ids="-".join)
def connect_each(request: pytest.FixtureRequest) -> Connect:
    """A client of each era at each face, where they differ."""
    return connector(*request.param)


async def test_a_workspace_without_items_declares_none(connect: Connect) -> None:
    async with read_counter(PLAIN) as gateway, connect(gateway) as client:
        declared = await client.hello()
        prompts = await client.raw("prompts/list")

    assert declared == {"logging": {}, "tools": {"listChanged": False}}
    if client.era == "modern":
        assert prompts["error"]["code"] == METHOD_NOT_FOUND
    else:
        assert prompts["result"] == {"prompts": []}


async def test_what_there_is_is_declared(connect_each: Connect) -> None:
    only_prompts = FakeServer("talk", [], capabilities={"prompts": {}})
    only_prompts.methods = {"prompts/list": lambda _: {"prompts": [PICTURE]}}
    async with read_counter(library()) as gateway, connect_each(gateway) as client:
        everything = await client.hello()
    async with read_counter(only_prompts) as gateway, connect_each(gateway) as client:
        prompts = await client.hello()

    assert everything.keys() == {"logging", "tools", "prompts", "resources", "completions"}
    assert prompts.keys() == {"logging", "tools", "prompts"}


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_declared_is_what_there_is_for_the_client(era: str) -> None:
    async with read_counter(library(), PLAIN) as gateway:
        peer = OurPeer(gateway)
        peer.rights = Rights(servers=("web",))
        declared = await NativeClient(peer, era).hello()

    assert declared == {"logging": {}, "tools": {"listChanged": False}}


async def test_the_setting_decides_whether_they_are_offered(connect: Connect) -> None:
    async with read_counter(PLAIN, native="on") as gateway, connect(gateway) as client:
        always = await client.hello()
    async with read_counter(library(), native="off") as gateway, connect(gateway) as client:
        never = await client.hello()
        refused = [await client.refusal(method) for method in ("prompts/list", "resources/list")]

    assert always.keys() == {"logging", "tools", "prompts", "resources", "completions"}
    assert never.keys() == {"logging", "tools"}
    assert [one["code"] for one in refused] == [METHOD_NOT_FOUND] * 2


async def test_prompts_are_named_by_their_server_and_come_as_the_server_gives_them(connect: Connect) -> None:
    async with read_counter(library(), library("annex")) as gateway, connect(gateway) as client:
        await client.hello()
        listed = (await client.ask("prompts/list"))["prompts"]
        got = await client.ask("prompts/get", name="annex__picture")
        filled = await client.ask("prompts/get", name="library__review", arguments={"change": "a.py"})

    assert [(one["name"], one["title"]) for one in listed] == [
        ("library__review", "library: Review"),
        ("library__picture", "library: picture"),
        ("annex__review", "annex: Review"),
        ("annex__picture", "annex: picture"),
    ]
    assert listed[0]["arguments"][0]["name"] == "change"
    assert got["messages"][0]["content"] == IMAGE
    assert got["description"] == "A picture"
    assert filled["messages"][0]["content"]["text"] == 'Review {"change": "a.py"}'


async def test_names_that_would_be_the_same_are_told_apart(connect: Connect) -> None:
    one, other = library("a"), library("a__b")
    one.methods["prompts/list"] = lambda _: {"prompts": [{"name": "b__picture"}]}
    other.methods["prompts/list"] = lambda _: {"prompts": [PICTURE]}
    async with read_counter(one, other) as gateway, connect(gateway) as client:
        await client.hello()
        names = [prompt["name"] for prompt in (await client.ask("prompts/list"))["prompts"]]
        await client.ask("prompts/get", name=names[1])

    assert names == ["a__b__picture", "a__b__picture_2"]
    assert (one.count("prompts/get"), other.count("prompts/get")) == (0, 1)


async def test_a_prompt_that_is_not_there_or_lacks_an_argument_is_refused(connect: Connect) -> None:
    server = library()
    async with read_counter(server) as gateway, connect(gateway) as client:
        await client.hello()
        unknown = await client.refusal("prompts/get", name="library__nothing")
        lacking = await client.refusal("prompts/get", name="library__review")
        odd = await client.refusal("prompts/get", name="library__review", arguments=[1])

    assert [one["code"] for one in (unknown, lacking, odd)] == [INVALID_PARAMS] * 3
    assert "change" in lacking["message"]
    assert server.count("prompts/get") == 0


async def test_resources_keep_their_addresses(connect: Connect) -> None:
    async with read_counter(library()) as gateway, connect(gateway) as client:
        await client.hello()
        listed = (await client.ask("resources/list"))["resources"]
        templates = (await client.ask("resources/templates/list"))["resourceTemplates"]
        text = await client.ask("resources/read", uri=README["uri"])
        row = await client.ask("resources/read", uri="db://tables/books")

    assert listed[0] == {**README, "name": "library: README"}
    assert [one["uriTemplate"] for one in templates] == ["db://tables/{table}", "db://parts/{path*}"]
    assert text["contents"] == [
        {"uri": README["uri"], "mimeType": "text/plain", "text": "content of file:///work/README.md"}
    ]
    assert row["contents"][0]["text"] == "content of db://tables/books"


async def test_two_servers_with_one_uri_are_both_readable(connect: Connect) -> None:
    first, second = library(), library("annex")
    async with read_counter(first, second) as gateway, connect(gateway) as client:
        await client.hello()
        addresses = [one["uri"] for one in (await client.ask("resources/list"))["resources"]]
        templates = [one["uriTemplate"] for one in (await client.ask("resources/templates/list"))["resourceTemplates"]]
        for address in (addresses[0], addresses[2], templates[2].replace("{table}", "old%20books")):
            await client.ask("resources/read", uri=address)
        unclear = await client.refusal("resources/read", uri="db://tables/books")

    assert addresses[2] == "toolcrib://annex/file%3A%2F%2F%2Fwork%2FREADME.md"
    read = [params["uri"] for method, params in second.heard if method == "resources/read"]
    assert read == ["file:///work/README.md", "db://tables/old%20books"]
    assert first.count("resources/read") == 1
    assert unclear["data"] == {"uri": "db://tables/books", "servers": ["library", "annex"]}


async def test_two_servers_whose_names_differ_in_capitals_only_are_told_apart(connect: Connect) -> None:
    first, second = library("Shelf"), library("shelf")
    async with read_counter(first, second) as gateway, connect(gateway) as client:
        await client.hello()
        address = (await client.ask("resources/list"))["resources"][2]["uri"]
        await client.ask("resources/read", uri=address)

    assert (first.count("resources/read"), second.count("resources/read")) == (0, 1)


ODD_DEFINITIONS = (
    {"description": None, "arguments": "none", "title": 5},
    {"arguments": [{"name": 1}, 5, {"name": "a", "required": "yes"}, {"name": "b"}]},
    {"icons": {}, "_meta": [], "annotations": 7, "size": "large", "mimeType": 1},
    {"icons": [{"src": 1}], "annotations": {"audience": ["everybody"], "priority": 9}, "size": -1.5},
)


@pytest.mark.parametrize("odd", ODD_DEFINITIONS)
async def test_an_odd_definition_of_one_server_does_not_spoil_the_lists_of_all(
    connect: Connect, odd: dict[str, Any]
) -> None:
    hostile = library("odd")
    hostile.methods["prompts/list"] = lambda _: {"prompts": [{**odd, "name": "odd"}]}
    hostile.methods["resources/list"] = lambda _: {"resources": [{**odd, "uri": "odd://1"}]}
    hostile.methods["resources/templates/list"] = lambda _: {"resourceTemplates": [{**odd, "uriTemplate": "odd://{x}"}]}
    async with read_counter(library(), hostile) as gateway, connect(gateway) as client:
        await client.hello()
        prompts = types.ListPromptsResult.model_validate(await client.ask("prompts/list"), strict=True)
        resources = types.ListResourcesResult.model_validate(await client.ask("resources/list"))
        templates = types.ListResourceTemplatesResult.model_validate(await client.ask("resources/templates/list"))
        said = [one for one in await client.all("prompts/list", "prompts") if one["name"] == "odd__odd"]

    assert [one.name for one in prompts.prompts] == ["library__review", "library__picture", "odd__odd"]
    assert [one.uri for one in resources.resources][2:] == ["odd://1"]
    assert [one.uri_template for one in templates.resource_templates][2:] == ["odd://{x}"]
    assert None not in said[0].values()


async def test_an_address_that_leads_nowhere_is_told_as_each_era_does(connect_each: Connect) -> None:
    async with read_counter(library()) as gateway, connect_each(gateway) as client:
        await client.hello()
        unknown = await client.refusal("resources/read", uri="ftp://nowhere")
        missing = await client.refusal("resources/read", uri="db://tables/missing")

    code = INVALID_PARAMS if client.era == "modern" else -32002
    assert (unknown["code"], unknown["data"]) == (code, {"uri": "ftp://nowhere"})
    assert (missing["code"], missing["data"]) == (code, {"uri": "db://tables/missing"})


async def test_a_link_in_a_result_can_be_read_by_its_caller(connect: Connect) -> None:
    server = library()
    link = {"type": "resource_link", "uri": "memo://new/report", "name": "report"}
    server.tools["borrow_book"] = lambda _: {"content": [link]}
    asked = {"server": "library", "tool": "borrow_book", "arguments": {}}
    async with read_counter(server) as gateway, connect(gateway) as client:
        await client.hello()
        before = await client.refusal("resources/read", uri=link["uri"])
        await client.ask("tools/call", name="execute_tool", arguments=asked)
        after = await client.ask("resources/read", uri=link["uri"])

    assert before["data"] == {"uri": link["uri"]}
    assert after["contents"][0]["text"] == "content of memo://new/report"


async def test_a_link_in_a_prompt_can_be_read_by_its_caller(connect: Connect) -> None:
    server = library()
    link = {"type": "resource_link", "uri": "memo://new/report", "name": "report"}
    server.methods["prompts/get"] = lambda _: {"messages": [{"role": "user", "content": link}]}
    async with read_counter(server) as gateway, connect(gateway) as client:
        await client.hello()
        await client.ask("prompts/get", name="library__picture")
        after = await client.ask("resources/read", uri=link["uri"])

    assert after["contents"][0]["text"] == "content of memo://new/report"


async def test_a_resource_of_far_too_many_values_is_an_error_of_its_server(connect: Connect) -> None:
    server = library()
    dense = {"uri": "db://tables/books", "text": "", "more": [[]] * 600_000}
    server.methods["resources/read"] = lambda _: {"contents": [dense]}
    async with read_counter(server) as gateway, connect(gateway) as client:
        await client.hello()
        refused = await client.refusal("resources/read", uri="db://tables/books")
        # Commas and brackets of a text are none.
        server.methods["resources/read"] = lambda _: {
            "contents": [{**dense, "text": '[[],"a"],' * 100_000, "more": []}]
        }
        read = await client.ask("resources/read", uri="db://tables/books")

    assert "it holds more than 524288 values" in refused["message"]
    assert read["contents"][0]["text"] == '[[],"a"],' * 100_000


async def test_a_rule_keeps_a_resource_from_list_and_read(connect: Connect) -> None:
    server = library()
    rules = (ToolRule(("resource:file:*", "prompt:picture", "resource:db://tables/secrets"), enabled=False),)
    async with read_counter(server, tool_rules=rules) as gateway, connect(gateway) as client:
        await client.hello()
        listed = await client.ask("resources/list")
        prompts = await client.ask("prompts/list")
        refused = [
            await client.refusal("resources/read", uri=README["uri"]),
            await client.refusal("resources/read", uri="db://tables/secrets"),
            await client.refusal("prompts/get", name="library__picture"),
        ]

    assert listed["resources"] == []
    assert [one["name"] for one in prompts["prompts"]] == ["library__review"]
    assert all(one["code"] in (INVALID_PARAMS, -32002) for one in refused)
    assert server.count("resources/read") + server.count("prompts/get") == 0


async def test_long_lists_come_in_pages(connect: Connect) -> None:
    server = library()
    server.methods["resources/list"] = lambda _: {
        "resources": [{"uri": f"file:///{number}", "name": str(number)} for number in range(450)]
    }
    async with read_counter(server) as gateway, connect(gateway) as client:
        await client.hello()
        first = await client.ask("resources/list")
        found = await client.all("resources/list", "resources")
        odd = await client.refusal("resources/list", cursor="nonsense")

    assert len(first["resources"]) == 200
    assert len({one["uri"] for one in found}) == len(found) == 450
    assert odd["code"] == INVALID_PARAMS


async def test_values_are_suggested(connect: Connect) -> None:
    async with read_counter(library()) as gateway, connect(gateway) as client:
        await client.hello()
        table = await client.ask(
            "completion/complete",
            ref={"type": "ref/resource", "uri": "db://tables/{table}"},
            argument={"name": "table", "value": "bo"},
        )
        tone = await client.ask(
            "completion/complete",
            ref={"type": "ref/prompt", "name": "library__review"},
            argument={"name": "tone", "value": ""},
        )
        unknown = await client.refusal(
            "completion/complete", ref={"type": "ref/prompt", "name": "x"}, argument={"name": "a", "value": ""}
        )

    assert table["completion"] == {"values": ["books", "borrowers"], "total": 2, "hasMore": False}
    assert len(tone["completion"]["values"]) == 3
    assert unknown["code"] == INVALID_PARAMS


async def test_new_clients_hear_how_long_an_answer_is_good(connect_each: Connect) -> None:
    server = library()
    async with read_counter(server) as gateway, connect_each(gateway) as client:
        await client.hello()
        listed = [await client.ask(f"{kind}/list") for kind in ("prompts", "resources", "resources/templates")]
        read = await client.ask("resources/read", uri=README["uri"])
        server.methods["resources/read"] = lambda _: {"contents": [], "ttlMs": 5000, "cacheScope": "public"}
        hinted = await client.ask("resources/read", uri=README["uri"])

    if client.era == "modern":
        assert all((one["ttlMs"], one["cacheScope"]) == (60_000, "private") for one in listed)
        assert (read["ttlMs"], read["cacheScope"], read["resultType"]) == (0, "private", "complete")
        assert (hinted["ttlMs"], hinted["cacheScope"]) == (5000, "public")
    else:
        assert not any("ttlMs" in one or "resultType" in one for one in (*listed, read, hinted))


@pytest.mark.parametrize("era", ERAS)
async def test_servers_of_both_eras_are_asked_in_their_own_way(connect: Connect, era: Any) -> None:
    server = library(era=era)
    async with read_counter(server) as gateway, connect(gateway) as client:
        await client.hello()
        await client.ask("prompts/get", name="library__picture")

    (params,) = (params for method, params in server.heard if method == "prompts/get")
    assert params["name"] == "picture"
    assert ("io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})) is (era == "modern")


async def test_a_request_of_a_lost_engine_is_answered_by_an_error() -> None:
    async with counter() as gateway:
        peer = OurPeer(gateway)
        peer.session.resume(Progress(running={1: "", "two": "prompts/get"}))

    assert [(one["id"], "error" in one) for one in peer.answers] == [(1, False), ("two", True)]


# -- input rounds


async def test_a_prompt_that_asks_first_is_answered_in_rounds_by_a_new_client() -> None:
    server = library()
    server.methods["prompts/get"] = _asking_prompt
    able = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    async with read_counter(server) as gateway:
        client = NativeClient(OurPeer(gateway), "modern")
        first = await client.ask("prompts/get", name="library__picture", _meta=able)
        answers = {"who": {"action": "accept", "content": {"name": "Ann"}}}
        again = {"inputResponses": answers, "requestState": first["requestState"]}
        second = await client.ask("prompts/get", name="library__picture", _meta=able, **again)
        other = await client.refusal(
            "prompts/get", name="library__review", _meta=able, arguments={"change": "a"}, **again
        )

    assert first["resultType"] == "input_required"
    assert first["inputRequests"]["who"]["params"]["message"] == "library asks: Who?"
    assert first["requestState"] != "of the server"
    assert second["messages"][0]["content"]["text"] == "Hello Ann"
    assert second["resultType"] == "complete"
    assert other["code"] == INVALID_PARAMS  # the state was sealed for another prompt


async def test_a_prompt_that_asks_is_driven_for_a_program() -> None:
    server = library()
    server.methods["prompts/get"] = _asking_prompt
    asked: list[str] = []

    async def answer(question: Any) -> dict[str, Any]:
        asked.append(json.loads(question.params)["message"])
        return {"action": "accept", "content": {"name": "Bob"}}

    async with read_counter(server) as gateway:
        outcome = await gateway.execute_tool(
            "toolcrib",
            "get_prompt",
            {"server": "library", "name": "picture"},
            ask=answer,
            capabilities={"elicitation": {"form": {}}},
        )

    assert asked == ["library asks: Who?"]
    assert "Hello Bob" in str(outcome.value)


def _asking_prompt(params: dict[str, Any]) -> dict[str, Any]:
    answers = params.get("inputResponses")
    if answers is None:
        form = {"type": "object", "properties": {"name": {"type": "string"}}}
        question = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": form}}
        return {"resultType": "input_required", "inputRequests": {"who": question}, "requestState": "of the server"}
    assert params["requestState"] == "of the server"
    said = f"Hello {answers['who']['content']['name']}"
    return {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}

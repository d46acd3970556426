"""Prompts and resources through the library's door and the five tools, over servers of both eras in memory."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from tests.fakes import FakeServer, spec, tool
from tests.gateways import read_counter
from tests.items import IMAGE, ODD, PICTURE, README, library
from toolcrib import Gateway, ToolcribError
from toolcrib.config.paths import Paths
from toolcrib.model.caller import Caller
from toolcrib.model.tool_rule import ToolRule
from toolcrib.server.meta_tools import MetaTools
from toolcrib.server.requests import Request
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, RpcError

ERAS = ("modern", "legacy")
AGENT = Request(Caller("agent", "stdio", "stdio:agent"))


async def ask(gateway: Gateway, meta_tool: str, **arguments: Any) -> Any:
    """What the agent reads of the answer of one of the five tools."""
    members = await MetaTools(gateway).call(meta_tool, json.dumps(arguments).encode(), AGENT)
    blocks = json.loads(bytes(members["content"]))
    try:
        return json.loads(blocks[0]["text"])
    except ValueError:
        return blocks[0]["text"]


async def execute(gateway: Gateway, tool_name: str, server: str = "library", **arguments: Any) -> Any:
    return await ask(gateway, "execute_tool", server=server, tool=tool_name, arguments=arguments)


def names(gateway: Gateway, server: str = "library") -> list[str]:
    return [name for name, one in gateway.workspace.view.items(server).items() if one.enabled]


@pytest.mark.parametrize("era", ERAS)
async def test_a_prompt_is_found_described_and_run_with_the_five_tools(era: Any) -> None:
    async with read_counter(library(era=era), FakeServer("web", [tool("fetch")])) as gateway:
        found = await ask(gateway, "search_tools", query="ask for a review of my code")
        details = await ask(gateway, "get_tool_details", server="library", tool="prompt:review")
        answer = await execute(gateway, "prompt:review", change="a.py")
        whole = await execute(gateway, "library:prompt:review", change="b.py")

    best = found["results"][0]
    assert (best["server"], best["tool"], best["kind"]) == ("library", "prompt:review", "prompt")
    assert details["kind"] == "prompt"
    assert [(one["name"], one["required"]) for one in details["parameters"]] == [("change", True), ("tone", False)]
    said = answer["result"]["messages"][0]["content"]["text"]
    assert said == 'Review {"change": "a.py"}'
    assert "b.py" in str(whole)


@pytest.mark.parametrize("era", ERAS)
async def test_a_resource_is_found_described_and_read_with_the_five_tools(era: Any) -> None:
    async with read_counter(library(era=era)) as gateway:
        found = await ask(gateway, "search_tools", query="how to begin readme")
        details = await ask(gateway, "get_tool_details", server="library", tool=found["results"][0]["tool"])
        answer = await execute(gateway, found["results"][0]["tool"])
        logo = await gateway.execute_tool("library", "resource:file:///work/logo.png")

    assert found["results"][0]["tool"] == f"resource:{README['uri']}"
    assert (details["kind"], details["parameters"]) == ("resource", [])
    assert answer == "content of file:///work/README.md"
    assert logo.result is not None
    assert logo.result.content == [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]


async def test_a_template_is_expanded_and_an_odd_one_refused() -> None:
    server = library()
    async with read_counter(server) as gateway:
        details = await ask(gateway, "get_tool_details", server="library", tool="resource:db://tables/{table}")
        answer = await execute(gateway, "resource:db://tables/{table}", table="old books")
        nothing = await execute(gateway, "resource:db://tables/{table}")
        odd = await execute(gateway, f"resource:{ODD['uriTemplate']}")

    assert [one["name"] for one in details["parameters"]] == ["table"]
    assert answer == "content of db://tables/old%20books"
    assert "table" in nothing["error"]["message"]
    assert odd["error"]["code"] == "TOOL_VALIDATION_ERROR"
    assert "read_resource" in odd["error"]["hint"]
    assert server.count("resources/read") == 1


async def test_an_address_that_was_not_listed_can_be_read() -> None:
    async with read_counter(library()) as gateway:
        answer = await execute(gateway, "resource:file:///elsewhere/notes.txt")
        missing = await execute(gateway, "resource:file:///missing")

    assert answer == "content of file:///elsewhere/notes.txt"
    assert (missing["error"]["code"], missing["error"]["rpcCode"]) == ("TOOL_EXECUTION_ERROR", -32002)


async def test_a_server_without_resources_is_asked_for_none() -> None:
    async with read_counter(FakeServer("web", [tool("fetch")])) as gateway:
        answer = await execute(gateway, "resource:file:///a", server="web")

    assert answer["error"]["code"] == "TOOL_NOT_FOUND"


async def test_what_is_no_text_in_a_prompt_follows_its_messages() -> None:
    async with read_counter(library()) as gateway:
        answer = await gateway.execute_tool("library", f"prompt:{PICTURE['name']}")

    assert answer.result is not None
    first, picture = answer.result.content
    said = json.loads(first["text"])
    assert said["description"] == "A picture"
    assert [message["content"] for message in said["messages"]] == [
        {"type": "image", "block": 1},
        {"type": "text", "text": "What is it?"},
    ]
    assert picture == IMAGE


async def test_a_missing_prompt_names_those_there_are() -> None:
    async with read_counter(library()) as gateway:
        answer = await execute(gateway, "prompt:revue")

    assert answer["error"]["code"] == "TOOL_NOT_FOUND"
    assert answer["error"]["nearest"][0] == "prompt:review"
    assert "borrow_book" not in str(answer)


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_whose_prompts_fail_still_has_its_tools(era: Any, caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: dict[str, Any]) -> Any:
        raise RpcError(INTERNAL_ERROR, "the shelf fell over")

    server = library(era=era)
    server.methods["prompts/list"] = broken
    async with read_counter(server) as gateway:
        tools = await gateway.list_tools("library")
        items = names(gateway)

    assert [one.name for one in tools] == ["borrow_book"]
    assert "resource:file:///work/README.md" in items
    assert not any(name.startswith("prompt:") for name in items)
    assert "the shelf fell over" in caplog.text


async def test_a_list_that_fails_later_leaves_what_was_known() -> None:
    server = library()
    listed = server.methods["prompts/list"]
    async with read_counter(server) as gateway:
        server.methods["prompts/list"] = lambda _: _broken()
        server.methods["resources/list"] = lambda _: {"resources": []}
        await gateway.read_server("library")
        kept = names(gateway)
        server.methods["prompts/list"] = listed
        answer = await execute(gateway, "prompt:picture")

    assert "prompt:review" in kept
    assert not any(name.startswith("resource:file:") for name in kept)
    assert "What is it?" in str(answer)


def _broken() -> Any:
    raise RpcError(INTERNAL_ERROR, "the shelf fell over")


async def test_a_server_that_declares_no_items_is_asked_for_none() -> None:
    server = library()
    server.capabilities = {"tools": {}}
    async with read_counter(server) as gateway:
        assert names(gateway) == []
    assert server.count("prompts/list") + server.count("resources/list") == 0


async def test_only_so_many_items_of_a_kind_are_taken() -> None:
    server = library()
    server.methods["resources/list"] = lambda _: {
        "resources": [{"uri": f"file:///{number}", "name": str(number)} for number in range(20)]
    }
    async with read_counter(server, max_items_per_server=5) as gateway:
        items = names(gateway)

    assert sum(name.startswith("resource:file:") for name in items) == 5
    assert sum(name.startswith("prompt:") for name in items) == 2


async def test_items_are_known_at_the_next_start_without_a_server() -> None:
    async with read_counter(library()):
        pass
    server = library()
    async with read_counter(server) as gateway:
        assert "prompt:review" in names(gateway)
        assert server.starts == 0


@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        ("resource:*", "resource:file:///work/README.md"),
        ("resource:file:*", "resource:file:///elsewhere.txt"),
        ("resource:db://tables/{table}", "resource:db://tables/books"),
        ("resource:file:///etc/*", "resource:file:///work/../etc/passwd"),
        ("resource:file:///etc/*", "resource:file:///%65tc/passwd"),
        ("resource:file:///etc/*", "resource:file:/etc/passwd"),
        ("resource:file:///etc/*", "resource: file://localhost//etc/passwd"),
        ("prompt:*", "prompt:review"),
        ("*", "prompt:review"),
    ],
)
async def test_a_rule_keeps_an_item_from_search_details_and_use(rule: str, refused: str) -> None:
    server = library()
    async with read_counter(server, tool_rules=(ToolRule((rule,), enabled=False),)) as gateway:
        found = await ask(gateway, "search_tools", query=refused, limit=20)
        answer = await execute(gateway, refused, change="a.py")
        details = await ask(gateway, "get_tool_details", server="library", tool=refused)

    assert refused not in [hit["tool"] for hit in found["results"]]
    assert answer["error"]["code"] == "TOOL_DISABLED"
    assert details["error"]["code"] in ("TOOL_DISABLED", "TOOL_NOT_FOUND")
    assert server.count("resources/read") + server.count("prompts/get") == 0


async def test_a_template_does_not_lead_to_what_a_rule_keeps_away() -> None:
    server = library()
    rules = (ToolRule(("resource:db://tables/secrets",), enabled=False),)
    async with read_counter(server, tool_rules=rules) as gateway:
        secrets = await execute(gateway, "resource:db://tables/{table}", table="secrets")
        books = await execute(gateway, "resource:db://tables/{table}", table="books")

    assert secrets["error"]["code"] == "TOOL_DISABLED"
    assert books == "content of db://tables/books"


@pytest.mark.parametrize("rule", ["resource:file:///etc/*", "resource:file:///{+path}"])
async def test_an_address_is_not_on_because_its_server_lists_it(rule: str) -> None:
    server = library()
    listed = {"uri": "file:///work/../etc/passwd", "name": "passwords"}
    server.methods["resources/list"] = lambda _: {"resources": [listed]}
    server.methods["resources/templates/list"] = lambda _: {
        "resourceTemplates": [{"uriTemplate": "file:///{+path}", "name": "file"}]
    }
    async with read_counter(server, tool_rules=(ToolRule((rule,), enabled=False),)) as gateway:
        answer = await execute(gateway, f"resource:{listed['uri']}")

    assert answer["error"]["code"] == "TOOL_DISABLED"
    assert server.count("resources/read") == 0


@pytest.mark.parametrize("spelling", ["db://tables/secrets", "db://tables/%73ecrets", "db://tables/./secrets"])
async def test_a_template_that_is_allowed_leads_to_nothing_that_is_listed_and_is_not(spelling: str) -> None:
    server = library()
    server.methods["resources/list"] = lambda _: {"resources": [{"uri": "db://tables/secrets", "name": "secrets"}]}
    rules = (ToolRule(("resource:db://tables/{table}",), enabled=True),)
    async with read_counter(server, tool_rules=rules) as gateway:
        answer = await execute(gateway, f"resource:{spelling}")
        books = await execute(gateway, "resource:db://tables/books")

    assert answer["error"]["code"] == "TOOL_DISABLED"
    assert books == "content of db://tables/books"


async def test_an_endless_address_is_asked_of_nobody() -> None:
    server = library()
    async with read_counter(server) as gateway:
        answer = await execute(gateway, f"resource:file:///{'x' * 10_000}")

    assert answer["error"]["code"] == "TOOL_NOT_FOUND"
    assert server.count("resources/read") == 0


async def test_where_only_some_tools_are_allowed_items_are_off_unless_named() -> None:
    rules = (ToolRule(("borrow_book", "resource:file:///work/*"), enabled=True),)
    async with read_counter(library(), tool_rules=rules) as gateway:
        allowed = await execute(gateway, "resource:file:///work/new.txt")
        outside = await execute(gateway, "resource:file:///work/../etc/passwd")
        hidden = await execute(gateway, "resource:file:///work/%3F/../../etc/passwd")
        prompt = await execute(gateway, "prompt:review", change="a")

    assert allowed == "content of file:///work/new.txt"
    assert {one["error"]["code"] for one in (outside, hidden, prompt)} == {"TOOL_DISABLED"}


async def test_the_entrys_own_lists_hold_for_items_too() -> None:
    entry = spec("library", allow_tools=("borrow_book", "prompt:*"), deny_tools=("prompt:picture",))
    async with read_counter(library(), servers=(entry,)) as gateway:
        assert names(gateway) == ["prompt:review"]


async def test_a_read_that_failed_on_the_way_is_tried_once_more() -> None:
    server = library()
    read = server.methods["resources/read"]

    def lost(_: dict[str, Any]) -> Any:
        server.methods["resources/read"] = read
        server.crash()
        return {}

    async with read_counter(server) as gateway:
        server.methods["resources/read"] = lost
        answer = await execute(gateway, "resource:file:///work/README.md")

    assert answer == "content of file:///work/README.md"


# -- search


async def test_a_search_can_be_narrowed_to_a_kind() -> None:
    async with read_counter(library()) as gateway:
        prompts = await gateway.search_tools("kind:prompt review")
        resources = await gateway.search_tools("kind:resource")
        tools = await gateway.search_tools("kind:tool book", limit=20)
        both = await gateway.search_tools("*review*")

    assert [hit.tool for hit in prompts][:1] == ["prompt:review"]
    assert {hit.kind for hit in resources} == {"resource", "template"}
    assert {hit.kind for hit in tools} == {"tool"}
    assert [hit.tool for hit in both] == ["prompt:review"]


async def test_a_tool_comes_before_a_resource_that_is_as_relevant() -> None:
    server = FakeServer("shop", [tool("list_orders", "All orders of the shop.")], capabilities={"resources": {}})
    server.methods = {
        "resources/list": lambda _: {
            "resources": [{"uri": "shop://orders", "name": "list_orders", "description": "All orders of the shop."}]
        },
        "resources/templates/list": lambda _: {"resourceTemplates": []},
    }
    async with read_counter(server) as gateway:
        found = await gateway.search_tools("all orders of the shop")

    assert [hit.kind for hit in found][:2] == ["tool", "resource"]


async def test_items_are_not_counted_or_listed_as_tools() -> None:
    async with read_counter(library()) as gateway:
        (server,) = await gateway.list_servers()
        tools = await gateway.list_tools("library")

    assert (server.tool_count, server.enabled_count, len(tools)) == (1, 1, 1)


# -- the built-in tools


async def test_prompts_and_resources_of_all_servers_are_listed() -> None:
    async with read_counter(library(), library("annex")) as gateway:
        prompts = await execute(gateway, "list_prompts", server="toolcrib")
        resources = await ask(
            gateway, "execute_tool", server="toolcrib", tool="list_resources", arguments={"server": "annex"}
        )
        unknown = await ask(
            gateway, "execute_tool", server="toolcrib", tool="list_resources", arguments={"server": "nope"}
        )

    listed = prompts["result"]["prompts"]
    assert [(one["server"], one["name"]) for one in listed] == [
        ("library", "prompt:review"),
        ("library", "prompt:picture"),
        ("annex", "prompt:review"),
        ("annex", "prompt:picture"),
    ]
    assert listed[0]["summary"] == "Asks for a code review of a change."
    assert [one["name"] for one in resources["result"]["resources"]] == [
        "resource:file:///work/README.md",
        "resource:file:///work/logo.png",
        "resource:db://tables/{table}",
        "resource:db://parts/{path*}",
    ]
    assert unknown["error"]["code"] == "SERVER_NOT_FOUND"


async def test_a_long_list_of_resources_comes_in_pages() -> None:
    server = library()
    many = [{"uri": f"file:///{number}", "name": f"file {number}"} for number in range(300)]
    server.methods["resources/list"] = lambda _: {"resources": many}
    seen: list[str] = []
    async with read_counter(server) as gateway:
        offset: int | None = 0
        while offset is not None:
            page = (await execute(gateway, "list_resources", server="toolcrib", offset=offset))["result"]
            seen += [one["name"] for one in page["resources"]]
            offset = page.get("next")

    assert len(seen) == len(set(seen)) == 302


@pytest.mark.parametrize("era", ERAS)
async def test_a_link_in_a_result_can_be_read(era: Any) -> None:
    server = library(era=era)
    link = {"type": "resource_link", "uri": "file:///new/report.txt", "name": "report"}
    server.tools["borrow_book"] = lambda _: {"content": [link]}
    async with read_counter(server) as gateway:
        lent = await gateway.execute_tool("library", "borrow_book")
        assert lent.result is not None
        uri = lent.result.content[0]["uri"]
        arguments = {"server": "library", "uri": uri}
        answer = await ask(gateway, "execute_tool", server="toolcrib", tool="read_resource", arguments=arguments)

    assert answer == "content of file:///new/report.txt"


async def test_a_prompt_is_got_with_arguments_as_an_object_or_as_text() -> None:
    asked: dict[str, Any] = {"server": "library", "name": "review"}
    async with read_counter(library()) as gateway:
        whole = await ask(
            gateway,
            "execute_tool",
            server="toolcrib",
            tool="get_prompt",
            arguments={**asked, "arguments": {"change": "a"}},
        )
        written = await ask(
            gateway,
            "execute_tool",
            server="toolcrib",
            tool="get_prompt",
            arguments={**asked, "arguments": '{"change": "a"}'},
        )
        lacking = await ask(gateway, "execute_tool", server="toolcrib", tool="get_prompt", arguments=asked)
        nameless = await ask(gateway, "execute_tool", server="toolcrib", tool="get_prompt", arguments={})

    assert whole == written
    assert whole["result"]["messages"][0]["content"]["text"] == 'Review {"change": "a"}'
    assert "change" in lacking["error"]["message"]
    assert "name" in nameless["error"]["message"]


async def test_rules_hold_for_what_built_in_tools_read_and_for_the_tools_themselves() -> None:
    server = library()
    rules = (ToolRule(("resource:file:*",), enabled=False), ToolRule(("toolcrib:get_prompt",), enabled=False))
    async with read_counter(server, tool_rules=rules) as gateway:
        file = await gateway.execute_tool("toolcrib", "read_resource", {"server": "library", "uri": "file:///a"})
        prompt = await gateway.execute_tool("toolcrib", "get_prompt", {"server": "library", "name": "picture"})
        listed = await gateway.list_items("resource")

    assert file.error is not None
    assert prompt.error is not None
    assert (file.error.code, prompt.error.code) == ("TOOL_DISABLED", "TOOL_DISABLED")
    assert listed == []
    assert server.count("resources/read") + server.count("prompts/get") == 0


@pytest.mark.parametrize("era", ERAS)
async def test_values_are_suggested_for_an_argument(era: Any) -> None:
    server = library(era=era)
    async with read_counter(server, library("mute", capabilities={"prompts": {}})) as gateway:
        table = await gateway.complete("library", "resource:db://tables/{table}", "table", "bo")
        nothing = await execute(gateway, "complete", server="toolcrib")
        word = await ask(
            gateway,
            "execute_tool",
            server="toolcrib",
            tool="complete",
            arguments={"server": "library", "ref": "prompt:review", "argument": "tone", "value": "s"},
        )
        mute = await gateway.complete("mute", "prompt:review", "tone", "s")

    assert "server" in nothing["error"]["message"]
    assert table["values"] == ["books", "borrowers"]
    assert word["result"]["values"] == ["shelves"]
    assert mute["values"] == []
    refs = [params["ref"] for method, params in server.heard if method == "completion/complete"]
    assert refs == [
        {"type": "ref/resource", "uri": "db://tables/{table}"},
        {"type": "ref/prompt", "name": "review"},
    ]


async def test_what_is_read_is_in_the_audit_log_under_its_servers_name() -> None:
    async with read_counter(library()) as gateway:
        await gateway.execute_tool("toolcrib", "read_resource", {"server": "library", "uri": "file:///a"})

    lines = Paths.of(os.environ).audit_log.read_text(encoding="utf-8").splitlines()
    assert [(line["server"], line["tool"]) for line in map(json.loads, lines)] == [("library", "resource:file:///a")]


async def test_whoever_listens_to_a_resource_is_in_the_audit_log_and_who_may_not_as_well() -> None:
    server = library(era="legacy")
    server.methods["resources/subscribe"] = lambda _: {}
    rules = (ToolRule(("resource:file:///work/logo.png",), enabled=False),)
    async with read_counter(server, tool_rules=rules) as gateway:
        await gateway.subscribe("library", "file:///work/README.md", lambda _: None, caller=AGENT.caller)
        with pytest.raises(ToolcribError):
            await gateway.subscribe("library", "file:///work/logo.png", lambda _: None, caller=AGENT.caller)

    lines = map(json.loads, Paths.of(os.environ).audit_log.read_text(encoding="utf-8").splitlines())
    assert [(line["caller"], line["tool"], line["outcome"], line.get("decision")) for line in lines] == [
        ("agent", "resource:file:///work/README.md", "subscribed", "allowed"),
        ("agent", "resource:file:///work/logo.png", "TOOL_DISABLED", "refused"),
    ]


async def test_suggestions_count_as_calls_where_calls_have_a_rate() -> None:
    server = library()
    async with read_counter(server, call_rate=0.1) as gateway:
        values = [(await gateway.complete("library", "prompt:review", "tone", "s"))["values"] for _ in range(2)]
        refused = await gateway.execute_tool("library", "borrow_book")

    assert values == [["shelves"], []]
    assert server.count("completion/complete") == 1
    assert refused.error is not None
    assert refused.error.code == "RATE_LIMITED"


async def test_many_resources_are_listened_to_in_turn_where_calls_have_a_rate() -> None:
    server = library(era="legacy")
    server.methods["resources/subscribe"] = lambda _: {}
    async with read_counter(server, call_rate=20) as gateway:
        began = time.monotonic()
        for number in range(25):
            await gateway.subscribe("library", f"file:///work/{number}", lambda _: None)
        seconds = time.monotonic() - began
        ran = await gateway.execute_tool("library", "borrow_book")

    assert server.count("resources/subscribe") == 25
    # Twenty at once, and the others one after the other; calls are counted apart.
    assert seconds > 0.2
    assert ran.success


async def test_a_server_may_be_called_prompt() -> None:
    async with read_counter(library("prompt")) as gateway:
        answer = await execute(gateway, "prompt:review", server="prompt", change="a")
        tool_answer = await gateway.execute_tool("", "prompt:borrow_book")

    assert "Review" in str(answer)
    assert tool_answer.success

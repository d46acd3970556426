"""One check for each feature of the protocol: what it takes for a feature to have come through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import mcp_types as types

from tests.journeys.asking import ROOT
from tests.matrix.pairing import NOTICE_SECONDS, Pairing

README = {"everything": "demo://resource/static/document/architecture.md", "features-new": "notes-new://readme"}
TEMPLATE = {"everything": "demo://resource/dynamic/text/1", "features-new": "notes-new://note/1"}
PROMPT = {"everything": ("completable-prompt", "department", "E"), "features-new": ("review", "language", "py")}


@dataclass(frozen=True)
class Feature:
    """A row of the table; `eras` are those of servers that have it at all."""

    name: str
    check: Callable[[Pairing], Awaitable[None]]
    eras: tuple[str, ...] = ("old", "new")


async def call(pair: Pairing) -> None:
    assert await pair.said(pair.features, "echo", text="hello") == f"hello in the {pair.era} era"
    if pair.era == "old":
        assert await pair.said("everything", "echo", message="hello") == "Echo: hello"


async def progress(pair: Pairing) -> None:
    server, tool, arguments = (
        ("everything", "trigger-long-running-operation", {"duration": 0.1, "steps": 5})
        if pair.era == "old"
        else (pair.features, "steps", {})
    )
    heard: list[float] = []

    async def hear(progress: float, total: float | None, _: str | None) -> None:
        assert total == 5
        heard.append(progress)

    asked = {"server": server, "tool": tool, "arguments": arguments}
    await pair.client.call_tool("execute_tool", asked, progress_callback=hear)
    assert heard == [1, 2, 3, 4, 5]


async def logs(pair: Pairing) -> None:
    if pair.visitor.era == "old":
        await pair.client.set_logging_level("info")
    pair.visitor.logs.clear()
    await pair.said(pair.features, "gossip")
    assert pair.visitor.logs == ["heard", "heard well"]


async def cancel(pair: Pairing) -> None:
    waiting, token = asyncio.Event(), uuid4().hex

    async def hear(*_: Any) -> None:
        waiting.set()

    asked = {"server": pair.features, "tool": "wait", "arguments": {"token": token}}
    running = asyncio.create_task(pair.client.call_tool("execute_tool", asked, progress_callback=hear))
    await asyncio.wait({running, asyncio.create_task(waiting.wait())}, return_when=asyncio.FIRST_COMPLETED)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    while await pair.said(pair.features, "was_cancelled", token=token) != "yes":
        pass


async def form(pair: Pairing) -> None:
    if pair.era == "old":
        assert f"Name: {pair.visitor.person.name}" in await pair.said("everything", "trigger-elicitation-request")
    assert await pair.said(pair.features, "name") == f"hello {pair.visitor.person.name}"


async def address(pair: Pairing) -> None:
    if pair.era == "old":
        asked = {"url": "https://example.com/x", "message": "Sign in"}
        told = await pair.said("everything", "trigger-url-elicitation", **asked)
        assert "completed the URL elicitation" in told
    assert await pair.said(pair.features, "visit") == "the person said accept"


async def sampling(pair: Pairing) -> None:
    if pair.era == "old":
        told = await pair.said("everything", "trigger-sampling-request", prompt="hi")
        assert f"the model of {pair.visitor.person.name}" in told
    assert await pair.said(pair.features, "think") == f"thought: the model of {pair.visitor.person.name}"


async def roots(pair: Pairing) -> None:
    assert await pair.said(pair.features, "folders") == ROOT


async def rounds(pair: Pairing) -> None:
    assert await pair.said(pair.features, "twice") == f"after the second: {pair.visitor.person.name}"


async def state_only(pair: Pairing) -> None:
    assert await pair.said(pair.features, "later") == "after 3 polls"


async def tool_list_changes(pair: Pairing) -> None:
    tool = f"grown_{uuid4().hex}"
    await pair.said(pair.features, "grow", tool=tool)
    while True:
        listed = await pair.client.call_tool("list_tools", {"server": pair.features})
        if tool in str(listed.content):
            return
        await asyncio.sleep(0.05)


async def content_blocks(pair: Pairing) -> None:
    result = await pair.execute(pair.features, "blocks")
    kinds = ["text", "image", "audio", "resource", "resource_link"]
    assert [block.type for block in result.content] == kinds
    assert result.content[0].annotations is not None
    assert result.content[0].annotations.priority == 0.5
    assert result.structured_content == {"answer": [1, None, {"deep": "é"}]}
    if pair.era == "old":
        image = await pair.execute("everything", "get-tiny-image")
        assert [block.type for block in image.content] == ["text", "image", "text"]
        links = await pair.execute("everything", "get-resource-links", count=2)
        assert [block.type for block in links.content][-2:] == ["resource_link", "resource_link"]


async def meta(pair: Pairing) -> None:
    asked = {"server": pair.features, "tool": "meta", "arguments": {}}
    result = await pair.client.call_tool("execute_tool", asked, meta={"com.example/given": "a stone"})
    assert result.meta is not None
    assert result.meta["com.example/seen"] == "a stone"


async def resources(pair: Pairing) -> None:
    uri = README[pair.main]
    assert uri in [str(resource.uri) for resource in (await pair.client.list_resources()).resources]
    read = await pair.client.read_resource(uri)
    assert [str(content.uri) for content in read.contents] == [uri]
    assert read.contents[0].text  # type: ignore[union-attr]


async def templates(pair: Pairing) -> None:
    assert (await pair.client.list_resource_templates()).resource_templates
    read = await pair.client.read_resource(TEMPLATE[pair.main])
    assert read.contents[0].text  # type: ignore[union-attr]


async def prompts(pair: Pairing) -> None:
    prompt, argument, _ = PROMPT[pair.main]
    name = f"{pair.main}__{prompt}"
    assert name in [one.name for one in (await pair.client.list_prompts()).prompts]
    given = {argument: "Engineering", **({"name": "Alice"} if pair.main == "everything" else {})}
    got = await pair.client.get_prompt(name, given)
    assert "Engineering" in str(got.messages[0].content)


async def completion(pair: Pairing) -> None:
    prompt, argument, value = PROMPT[pair.main]
    reference = types.PromptReference(name=f"{pair.main}__{prompt}")
    told = await pair.client.complete(reference, {"name": argument, "value": value})
    assert told.completion.values == (["Engineering"] if pair.main == "everything" else ["python"])


async def subscriptions(pair: Pairing) -> None:
    uri = f"notes-{pair.era}://readme"
    if pair.visitor.era == "new":
        async with pair.client.listen(resource_subscriptions=[uri]) as changes:
            await pair.said(pair.features, "touch")
            await _first(changes)
        return
    pair.visitor.notices.clear()
    await pair.client.subscribe_resource(uri)
    await pair.said(pair.features, "touch")
    await pair.visitor.heard(types.ResourceUpdatedNotification)


async def prompt_list_changes(pair: Pairing) -> None:
    prompt = f"written_{uuid4().hex}"
    if pair.visitor.era == "new":
        async with pair.client.listen(prompts_list_changed=True) as changes:
            await pair.said(pair.features, "write_prompt", prompt=prompt)
            await _first(changes)
    else:
        pair.visitor.notices.clear()
        await pair.said(pair.features, "write_prompt", prompt=prompt)
        await pair.visitor.heard(types.PromptListChangedNotification)
    while f"{pair.features}__{prompt}" not in [one.name for one in (await pair.client.list_prompts()).prompts]:
        pass


async def _first(changes: AsyncIterable[Any]) -> None:
    async with asyncio.timeout(NOTICE_SECONDS):
        await anext(aiter(changes))


async def tasks(pair: Pairing) -> None:
    if pair.era == "old":
        assert "Research Report" in await pair.said("everything", "simulate-research-query", topic="bees")
    else:
        assert await pair.said(pair.features, "job") == "the job is done"


NEW_ONLY = ("new",)
# In this order: once an old server has asked on stdio, each session has a process of its own, and what changes in one of
# those is not seen by whoever reads the server or listens to it.
FEATURES = (
    Feature("call", call),
    Feature("changed tools are found", tool_list_changes),
    Feature("subscriptions to resources", subscriptions),
    Feature("the client is told that prompts changed", prompt_list_changes),
    Feature("resources", resources),
    Feature("resource templates", templates),
    Feature("prompts", prompts),
    Feature("completion", completion),
    Feature("progress, in order", progress),
    Feature("log messages, at the client's level", logs),
    Feature("cancel", cancel),
    Feature("content blocks and structured content", content_blocks),
    Feature("`_meta`, both ways", meta),
    Feature("elicitation: a form", form),
    Feature("elicitation: an address to open", address),
    Feature("sampling", sampling),
    Feature("roots", roots),
    Feature("several input rounds, with a state", rounds, NEW_ONLY),
    Feature("rounds with a state only", state_only, NEW_ONLY),
    Feature("tasks", tasks),
)

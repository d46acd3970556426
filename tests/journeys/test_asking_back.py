"""What servers ask in the middle of a call reaches the client that made the call, and its answer the server."""

from __future__ import annotations

import json
import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.journeys.asking import ROOT, Person, asking_server
from tests.journeys.http_gateway import connect, gateway_process, write_config
from tests.journeys.http_upstream import everything_over_http
from tests.journeys.stdio_gateway import ERAS, MODES, Workshop, eventually, execute, failure, run
from tests.servers.launch import Launch

OLD = MODES[:1]
FACES = ("stdio", "http")
# A client and a server of each era; "legacy" is the older one.
PAIRS = [(mode, era) for mode in MODES for era in ERAS]


@pytest.fixture(params=("stdio", "streamableHttp", "sse"))
def everything(request: pytest.FixtureRequest, everything_server: Launch) -> Any:
    """The entry of server-everything, an old server, on each transport that it has."""
    if request.param == "stdio":
        yield everything_server.entry()
        return
    with everything_over_http(everything_server, request.param) as server:
        yield server.sse if request.param == "sse" else server.streamable


@asynccontextmanager
async def client_of(
    face: str, mode: str, workshop: Workshop, servers: Mapping[str, Any], person: Person | None = None, **settings: Any
) -> AsyncIterator[Client]:
    """A client with this person in front of it, of a gateway with these servers."""
    callbacks = {} if person is None else person.callbacks
    if face == "stdio":
        workshop.configure(servers, **settings)
        async with workshop.client(mode, **callbacks) as client:
            yield client
        return
    config = write_config(workshop.folder, servers, **settings)
    with gateway_process(workshop.folder, config, workshop.environment) as gateway:
        async with connect(gateway, mode, **callbacks) as client:
            yield client


@pytest.mark.parametrize("mode", OLD)
@pytest.mark.parametrize("face", FACES)
async def test_a_person_and_a_model_are_asked_for_an_old_server_of_somebody_else(
    workshop: Workshop, everything: dict[str, Any], face: str, mode: str
) -> None:
    person = Person()

    async with client_of(face, mode, workshop, {"everything": everything}, person) as client:
        form = await execute(client, "everything", "trigger-elicitation-request")
        address = await execute(
            client, "everything", "trigger-url-elicitation", url="https://example.com/x", message="Sign in"
        )
        model = await execute(client, "everything", "trigger-sampling-request", prompt="hi")

    assert not any(answer.is_error for answer in (form, address, model))
    assert "Name: Ann" in str(form.content)
    assert "completed the URL elicitation" in str(address.content)
    assert "the model of Ann" in str(model.content)
    assert [message.partition(":")[0] for message in person.messages] == [
        "everything asks",
        "everything asks you to open example.com",
        "everything wants an answer of your model, to this prompt",
    ]


@pytest.mark.parametrize(("mode", "era"), PAIRS)
@pytest.mark.parametrize("face", FACES)
async def test_a_tool_gets_the_answers_of_the_client_that_runs_it(
    workshop: Workshop, face: str, mode: str, era: str
) -> None:
    person = Person()

    async with client_of(face, mode, workshop, {"asking": asking_server(era)}, person) as client:
        name = await execute(client, "asking", "name")
        page = await execute(client, "asking", "visit")
        model = await execute(client, "asking", "model")
        folders = await execute(client, "asking", "folders")
        several = await execute(client, "asking", "several")
        twice = await execute(client, "asking", "twice")

    assert name.structured_content == {"action": "accept", "content": {"name": "Ann"}}
    assert page.structured_content == {"action": "accept"}
    assert model.structured_content["content"] == {"type": "text", "text": "the model of Ann"}
    assert folders.structured_content == {"roots": [{"uri": ROOT, "name": "Ann"}]}
    assert several.structured_content == {"who": name.structured_content, "where": folders.structured_content}
    assert twice.structured_content == {"who": name.structured_content, "friend": name.structured_content}


@pytest.mark.parametrize(("mode", "era"), PAIRS)
async def test_a_person_decides_about_the_model_and_the_configuration_about_a_server(
    workshop: Workshop, mode: str, era: str
) -> None:
    entry = asking_server(era)
    servers = {
        "asking": entry,
        "trusted": {**entry, "sampling": "allow"},
        "refused": {**entry, "sampling": "deny", "elicitation": "deny"},
    }
    person = Person(allows_model=False)

    async with client_of("stdio", mode, workshop, servers, person) as client:
        if era == "modern":
            assert "did not allow" in failure(await execute(client, "asking", "model"))["message"]
        else:
            refusal = (await execute(client, "asking", "model")).structured_content
            assert refusal is not None
            assert refusal["error"]["code"] == -1
        assert len(person.asked) == 1
        assert person.messages == ["asking wants an answer of your model, to this prompt: Think."]

        person.asked.clear()
        thought = (await execute(client, "trusted", "model")).structured_content
        assert thought is not None
        assert thought["model"] == "m-1"
        assert person.messages == []

        person.asked.clear()
        for tool in ("model", "name"):
            await execute(client, "refused", tool)
        declared = (await execute(client, "refused", "capabilities")).structured_content
        assert person.asked == []
        if era == "modern":
            assert declared is not None
            assert declared.keys().isdisjoint({"sampling", "elicitation"})


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_can_not_be_asked_is_told_what_the_tool_needs(
    workshop: Workshop, everything_server: Launch, face: str, mode: str
) -> None:
    async with client_of(face, mode, workshop, {"everything": everything_server.entry()}) as client:
        for tool, need in (("trigger-elicitation-request", "elicitation"), ("trigger-sampling-request", "sampling")):
            arguments = {"prompt": "hi"} if need == "sampling" else {}
            error = failure(await execute(client, "everything", tool, **arguments))
            assert (error["code"], error["needs"]) == ("CLIENT_CANNOT_ANSWER", [need])
            assert "your client can't be asked" in error["hint"]
        assert "roots" in await run(client, "everything", "get-roots-list")


@pytest.mark.parametrize("mode", OLD)
@pytest.mark.parametrize("face", FACES)
async def test_a_server_that_looks_at_folders_when_it_starts_gets_those_of_its_client(
    workshop: Workshop, everything_server: Launch, face: str, mode: str
) -> None:
    person = Person()

    async with client_of(face, mode, workshop, {"everything": everything_server.entry()}, person) as client:
        # Reading its tools has shown that it asks, so that it is started for this client alone.
        await execute(client, "everything", "echo", message="hello")

        async def folders() -> str:
            return await run(client, "everything", "get-roots-list")

        while ROOT not in (told := await folders()):
            assert "no roots" in told

        assert {"roots": True} in person.asked
        person.asked.clear()
        person.root = f"{ROOT}/other"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # roots are deprecated, and still there
            await client.session.send_roots_list_changed()
        await eventually(lambda: {"roots": True} in person.asked)
        while person.root not in (told := await folders()):
            assert ROOT in told


@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_that_runs_as_a_task_is_awaited_and_may_ask(
    workshop: Workshop, everything_server: Launch, mode: str
) -> None:
    person, progress = Person(), list[str | None]()

    async def on_progress(_: float, __: float | None, message: str | None) -> None:
        progress.append(message)

    async with client_of("stdio", mode, workshop, {"everything": everything_server.entry()}, person) as client:
        arguments = {"topic": "python", "ambiguous": True}
        asked = {"server": "everything", "tool": "simulate-research-query", "arguments": arguments}
        report = await client.call_tool("execute_tool", asked, progress_callback=on_progress)

    assert "# Research Report: python" in str(report.content), report
    assert any("could have multiple interpretations" in message for message in person.messages)
    assert "Gathering sources..." in progress


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("mode", MODES)
async def test_a_server_is_asked_again_while_it_only_says_not_yet(workshop: Workshop, face: str, mode: str) -> None:
    async with client_of(face, mode, workshop, {"asking": asking_server("modern")}) as client:
        later = await execute(client, "asking", "later", times=4)

    assert later.structured_content == {"at": "last"}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("mode", MODES)
async def test_only_what_the_caller_declared_is_stamped(workshop: Workshop, face: str, mode: str) -> None:
    person = Person()

    async with client_of(face, mode, workshop, {"asking": asking_server("modern")}, person) as client:
        declared = (await execute(client, "asking", "capabilities")).structured_content

    assert declared is not None
    assert {name for name in declared if declared[name] is not None} >= {"elicitation", "sampling", "roots"}

    async with client_of(face, mode, workshop, {"asking": asking_server("modern")}) as client:
        undeclared = (await execute(client, "asking", "capabilities")).structured_content

    assert undeclared is not None
    assert undeclared.keys().isdisjoint({"elicitation", "sampling", "roots"})


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("mode", MODES)
async def test_errors_that_a_client_can_act_on_arrive_as_themselves(workshop: Workshop, face: str, mode: str) -> None:
    servers = {era: asking_server(era) for era in ERAS}
    is_old = mode == "legacy"

    person = Person()
    async with client_of(face, mode, workshop, servers, person) as client:
        if is_old:
            with pytest.raises(MCPError) as signing:
                await execute(client, "legacy", "sign_in")
            assert signing.value.error.code == -32042
            assert signing.value.error.data["elicitations"][0]["url"] == "https://example.com/sign-in"
            await eventually(lambda: person.completed == ["e-2"])
            assert person.asked == []
        else:
            done = await execute(client, "legacy", "sign_in")
            assert done.structured_content == {"signed": "in"}
            assert person.messages == ["legacy asks you to open example.com: Sign in."]

    async with client_of(face, mode, workshop, servers) as client:
        assert failure(await execute(client, "legacy", "sign_in"))["rpcCode"] == -32042
        if is_old:
            error = failure(await execute(client, "modern", "needs_model"))
            assert (error["code"], error["needs"]) == ("CLIENT_CANNOT_ANSWER", ["sampling"])
        else:
            with pytest.raises(MCPError) as lacking:
                await execute(client, "modern", "needs_model")
            assert lacking.value.error.code == -32021
            assert lacking.value.error.data == {"requiredCapabilities": {"sampling": {}}}


@pytest.mark.parametrize("face", FACES)
async def test_a_state_of_a_server_passes_as_it_came_but_only_where_it_belongs(workshop: Workshop, face: str) -> None:
    """The modern client by hand: what it is given is ours, and what the server gets back is the server's own."""
    log = workshop.folder / "asking.jsonl"
    servers = {"asking": asking_server("modern", log), "other": asking_server("modern")}
    answer = {"who": {"action": "accept", "content": {"name": "Ann"}}}

    async with client_of(face, MODES[1], workshop, servers, Person()) as client:
        asked = await by_hand(client, "asking", "name")
        assert asked.result_type == "input_required"
        assert asked.request_state is not None
        assert asked.request_state.startswith("tc1.")
        for server, tool in (("other", "name"), ("asking", "twice")):
            with pytest.raises(MCPError) as refused:
                await by_hand(client, server, tool, answer, asked.request_state)
            assert refused.value.error.code == -32602
        with pytest.raises(MCPError) as bent:
            await by_hand(client, "asking", "name", answer, asked.request_state[:-1] + "!")
        assert bent.value.error.code == -32602
        done = await by_hand(client, "asking", "name", answer, asked.request_state)
        with pytest.raises(MCPError) as unknown:  # the server's own error about the answers of a round
            await by_hand(client, "asking", "name", answer, asked.request_state)

    sent = [json.loads(line)["params"] for line in log.read_text().splitlines() if '"tools/call"' in line]
    assert [params.get("requestState") for params in sent] == [None, "state 1", "state 1"]
    assert sent[1]["inputResponses"] == answer
    assert done.structured_content == answer["who"]
    assert (unknown.value.error.code, unknown.value.error.message) == (-32602, "unknown state")


async def by_hand(client: Client, server: str, tool: str, responses: Any = None, state: str | None = None) -> Any:
    """One request, without the SDK's help with the rounds."""
    arguments = {"server": server, "tool": tool, "arguments": {}}
    return await client.session.call_tool(
        "execute_tool", arguments, input_responses=responses, request_state=state, allow_input_required=True
    )

"""What servers ask in the middle of a call reaches the client that made the call, and its answer the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client

from tests.journeys.asking import ROOT, Person, asking_server
from tests.journeys.http_gateway import connect, gateway_process, write_config
from tests.journeys.http_upstream import everything_over_http
from tests.journeys.stdio_gateway import ERAS, MODES, Workshop, execute, failure, run
from tests.servers.launch import Launch

OLD = MODES[:1]
FACES = ("stdio", "http")
# A client and a server of each era; "legacy" is the older one.
PAIRS = [(mode, era) for mode in MODES[:1] for era in ERAS[:1]]


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
    assert [question.get("mode") for question in person.asked if "message" in question] == ["form", "url"]


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

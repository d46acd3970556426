"""A remote endpoint that is lost is looked for in the background; time is the loop's own and passes at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes import INSTANT, FakeServer, eventually, spec
from toolcrib.errors import AuthenticationFailed, ServerConnectionError, ToolcribError
from toolcrib.model.call import ToolCall
from toolcrib.model.caller import Caller
from toolcrib.model.server import RemoteLaunch, ServerSpec, Transport
from toolcrib.upstream.connection import Connection, ConnectionHooks, ConnectionPolicy

POLICY = ConnectionPolicy(client_info={"name": "test", "version": "0"})
CALL = ToolCall("files", "read", {}, b"{}")


@pytest.fixture
def anyio_backend() -> Any:
    return INSTANT


def now() -> float:
    return asyncio.get_running_loop().time()


class Endpoint(FakeServer):
    """A remote server that notes when it was dialled, and is there or not."""

    refusal: ToolcribError | None = None

    def __init__(self) -> None:
        super().__init__(on_open=self._dial)
        self.dialled: list[float] = []

    async def _dial(self) -> None:
        self.dialled.append(now())
        if self.refusal is not None:
            raise self.refusal

    def leave(self) -> None:
        self.refusal = ServerConnectionError("the connection was refused", server="files")
        self.crash("the server ended the event stream")

    def come_back(self) -> None:
        self.refusal = None

    def dialled_after(self, moment: float) -> list[int]:
        return [round(at - moment) for at in self.dialled if at > moment]


@asynccontextmanager
async def reaching(endpoint: Endpoint, transport: Transport = "sse", **policy: Any) -> AsyncIterator[Connection]:
    async def open_link(_: ServerSpec, ears: Any) -> Any:
        return await endpoint.open(ears)

    hooks = ConnectionHooks(lambda: None, lambda _: None, lambda: None)
    entry = spec(launch=RemoteLaunch("https://far.example.com/sse", transport=transport))
    connection = Connection(entry, open_link, replace(POLICY, **policy), hooks)
    try:
        yield connection
    finally:
        await connection.close()


async def lose(endpoint: Endpoint, connection: Connection) -> float:
    """The moment at which the connection was lost."""
    endpoint.leave()
    await eventually(lambda: connection.status.state == "error")
    return now()


@pytest.mark.parametrize("transport", ["sse", "http"])
async def test_a_lost_endpoint_is_reconnected_after_1_2_3_4_5_seconds_and_then_on_demand(transport: Transport) -> None:
    endpoint = Endpoint()

    async with reaching(endpoint, transport) as connection:
        await connection.call(CALL)
        lost = await lose(endpoint, connection)
        await asyncio.sleep(100)
        assert endpoint.dialled_after(lost) == [1, 3, 6, 10, 15]
        assert connection.status.state == "error"
        endpoint.come_back()
        await asyncio.sleep(100)
        assert len(endpoint.dialled_after(lost)) == 5
        assert (await connection.call(CALL)).text == "{}"
        assert connection.status.state == "connected"


async def test_an_endpoint_that_is_back_meanwhile_is_connected_before_anybody_calls() -> None:
    endpoint = Endpoint()

    async with reaching(endpoint) as connection:
        await connection.call(CALL)
        lost = await lose(endpoint, connection)
        await asyncio.sleep(4)
        endpoint.come_back()
        await asyncio.sleep(3)
        assert connection.status.state == "connected"
        await connection.call(CALL)
        assert endpoint.dialled_after(lost) == [1, 3, 6]


async def test_a_call_does_not_wait_for_the_next_try() -> None:
    endpoint = Endpoint()

    async with reaching(endpoint) as connection:
        await connection.call(CALL)
        lost = await lose(endpoint, connection)
        await asyncio.sleep(11)
        endpoint.come_back()
        assert (await connection.call(CALL)).text == "{}"
        await asyncio.sleep(30)
        assert endpoint.dialled_after(lost) == [1, 3, 6, 10, 11]
        assert len(endpoint.open_links) == 1


async def test_an_endpoint_that_was_not_there_at_first_is_looked_for_too() -> None:
    endpoint = Endpoint()
    endpoint.leave()

    async with reaching(endpoint) as connection:
        with pytest.raises(ServerConnectionError, match="refused"):
            await connection.read()
        asked = now()
        await asyncio.sleep(5)
        endpoint.come_back()
        await asyncio.sleep(2)
        assert endpoint.dialled_after(asked) == [1, 3, 6]
        assert connection.status.state == "connected"


async def test_many_calls_to_an_endpoint_that_is_away_each_ask_it() -> None:
    """Waiting out a minute, as for programs that crash, would keep the person from one that has come back."""
    endpoint = Endpoint()
    endpoint.leave()

    async with reaching(endpoint) as connection:
        began = now()
        for _ in range(12):
            with pytest.raises(ServerConnectionError, match="refused"):
                await connection.call(CALL)
        assert now() - began < 1
        endpoint.come_back()
        assert (await connection.call(CALL)).text == "{}"


async def test_an_endpoint_that_leaves_at_once_each_time_is_given_up_after_five_tries() -> None:
    endpoint = Endpoint()

    async with reaching(endpoint) as connection:
        await connection.call(CALL)
        endpoint.crash()
        await eventually(lambda: connection.status.state == "error")
        lost = now()
        for _ in range(200):
            await asyncio.sleep(0.5)
            endpoint.crash()
        assert len(endpoint.dialled_after(lost)) == 5


async def test_an_endpoint_that_refuses_us_is_not_asked_again() -> None:
    endpoint = Endpoint()
    endpoint.refusal = AuthenticationFailed("it answered 401", server="files")

    async with reaching(endpoint) as connection:
        with pytest.raises(AuthenticationFailed):
            await connection.call(CALL)
        await asyncio.sleep(30)
        assert len(endpoint.dialled) == 1


@pytest.mark.parametrize("end", ["close", "disconnect"])
async def test_an_endpoint_that_is_no_longer_wanted_is_not_looked_for(end: str) -> None:
    endpoint = Endpoint()

    async with reaching(endpoint) as connection:
        await connection.call(CALL)
        lost = await lose(endpoint, connection)
        await asyncio.sleep(2)
        await getattr(connection, end)()
        await asyncio.sleep(60)
        assert endpoint.dialled_after(lost) == [1]


async def test_closing_in_the_middle_of_a_try_ends_it() -> None:
    endpoint = Endpoint()

    async with reaching(endpoint) as connection:
        await connection.call(CALL)
        await lose(endpoint, connection)
        endpoint.come_back()
        endpoint.methods["server/discover"] = endpoint.methods["initialize"] = _never
        await asyncio.sleep(1.5)
        assert len(endpoint.open_links) == 1
        await connection.close()
        dialled = len(endpoint.dialled)
        await asyncio.sleep(60)
        assert (endpoint.open_links, len(endpoint.dialled)) == ([], dialled)


async def _never(_: dict[str, Any]) -> dict[str, Any]:
    await asyncio.get_running_loop().create_future()
    return {}


async def test_an_endpoint_that_nobody_has_used_for_long_is_not_looked_for() -> None:
    endpoint = Endpoint()

    async with reaching(endpoint, idle_seconds=5.0) as connection:
        await connection.call(CALL)
        lost = await lose(endpoint, connection)
        await asyncio.sleep(60)
        assert endpoint.dialled_after(lost) == [1, 3]


async def test_an_endpoint_that_came_back_is_let_go_when_it_is_idle() -> None:
    endpoint = Endpoint()

    async with reaching(endpoint, idle_seconds=60.0) as connection:
        await connection.call(CALL)
        await lose(endpoint, connection)
        endpoint.come_back()
        await asyncio.sleep(50)
        assert len(endpoint.open_links) == 1
        await asyncio.sleep(20)
        assert (endpoint.open_links, connection.status.state) == ([], "disconnected")


async def test_a_server_process_that_crashed_is_left_to_the_next_call() -> None:
    server = FakeServer()

    async def open_link(_: ServerSpec, ears: Any) -> Any:
        return await server.open(ears)

    connection = Connection(spec(), open_link, POLICY, ConnectionHooks(lambda: None, lambda _: None, lambda: None))
    await connection.call(CALL)
    server.crash()
    await asyncio.sleep(60)
    assert server.starts == 1
    await connection.close()


async def test_an_endpoint_that_somebody_listens_to_is_looked_for_until_it_is_back() -> None:
    endpoint = Endpoint()
    endpoint.era, endpoint.methods = "legacy", {"resources/subscribe": lambda _: {}}

    async with reaching(endpoint) as connection:
        await connection.subscribe(Caller(), "file:///notes.txt", [].append)
        lost = await lose(endpoint, connection)
        await asyncio.sleep(100)
        assert endpoint.dialled_after(lost) == [1, 3, 6, 10, 15, 75]
        endpoint.come_back()
        await asyncio.sleep(60)
        assert connection.status.state == "connected"
        assert endpoint.count("resources/subscribe") == 2

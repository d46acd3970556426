"""What is answered on stdio is what the SDK's server answers, for whatever a client sends in either era."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp_types import jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.fakes import FakeServer, eventually, text, tool
from tests.gateways import counter, read_counter
from tests.journeys.odd_messages import HELLO, MODERN_META, OddMessages
from tests.server.stdio_peers import OurPeer, both_answers, comparable, is_message, sdk_peer
from toolcrib import Gateway
from toolcrib.wire.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND

VERSION, CLIENT, CAPABILITIES = MODERN_META
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
SERVED = ["initialize", "ping", "tools/list", "tools/call", "logging/setLevel", "server/discover"]
# The SDK looks at the parameters of these before it says that it does not have the method.
UNSERVED_WITH_PARAMS = ["prompts/get", "resources/read", "resources/subscribe", "completion/complete"]
UNSERVED = ["prompts/list", "resources/list", "resources/templates/list", "roots/list", "tasks/get", "nope", ""]
METHODS = [*SERVED, *UNSERVED]
ODD: list[Any] = [True, 0, -1, 1.5, 2**70, "", "x", [], {}, {"a": {}}, "2026-07-28", {"name": "a"}, "debug", "loud"]
ODD_LINES = 1_000


def ask(id: int | str, method: str, *params: Any) -> dict[str, Any]:
    """A request; without parameters where none are given."""
    return {"jsonrpc": "2.0", "id": id, "method": method, **({"params": params[0]} if params else {})}


def tell(method: str, *params: Any) -> dict[str, Any]:
    return {key: value for key, value in ask(0, method, *params).items() if key != "id"}


def modern(**params: Any) -> dict[str, Any]:
    return {**params, "_meta": MODERN_META}


def less(whole: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in whole.items() if name != key}


GREET = ask("hello", "initialize", HELLO)
OPEN = ask("open", "tools/list", modern())
LIST_SERVERS = {"name": "list_mcp_servers", "arguments": {}}
VALID = {"tools/call": LIST_SERVERS, "logging/setLevel": {"level": "info"}}

HANDSHAKES = {
    f"version {version!r}": [
        ask(1, "initialize", {**HELLO, "protocolVersion": version}),
        tell("notifications/initialized"),
        *(ask(method, method, VALID.get(method, {})) for method in METHODS[1:]),
        ask("cursor", "tools/list", {"cursor": "next"}),
    ]
    for version in (*HANDSHAKE_PROTOCOL_VERSIONS, "2026-07-28", "1999-01-01", "")
}
ODD_HANDSHAKES = {
    f"{key}: {value!r}": [ask(1, "initialize", {**HELLO, key: value}), ask(2, "tools/list")]
    for key in (*HELLO, "_meta")
    for value in [None, *ODD, {"name": "a", "version": 1}]
}
PARTIAL_HANDSHAKES = {f"no {key}": [ask(1, "initialize", less(HELLO, key)), ask(2, "ping")] for key in HELLO}
OPENINGS = {
    "nothing was agreed": [ask(method, method, {}) for method in METHODS],
    "nothing was agreed, no parameters": [ask(method, method) for method in METHODS],
    "null for parameters": [GREET, *(ask(method, method, None) for method in METHODS)],
    "the modern era after a handshake": [GREET, *(ask(method, method, modern()) for method in METHODS)],
    "the modern era after a ping": [ask(1, "ping"), ask(2, "tools/list", modern()), GREET, ask(3, "tools/list")],
    "the modern era": [OPEN, *(ask(method, method, modern(**VALID.get(method, {}))) for method in METHODS)],
    "a call first": [ask(1, "tools/call", modern(**LIST_SERVERS)), ask(2, "tools/call", modern(**LIST_SERVERS))],
    "no envelope after one": [OPEN, *(ask(method, method, {}) for method in METHODS)],
    "a handshake after an envelope": [OPEN, GREET, ask(1, "initialize"), ask(2, "initialize", {"protocolVersion": 5})],
    "a handshake in an envelope": [ask(1, "initialize", modern(**HELLO)), ask(2, "ping"), ask(3, "ping", modern())],
    "a revision of the future": [
        ask(1, "server/discover", {"_meta": {**MODERN_META, VERSION: "2031-01-01"}}),
        GREET,
        ask(2, "tools/list", modern()),
    ],
    "half an envelope": [ask(1, "server/discover", {"_meta": {VERSION: "2026-07-28"}}), OPEN, GREET],
    "two handshakes": [
        GREET,
        ask(1, "initialize", {**HELLO, "protocolVersion": "2024-11-05"}),
        ask(2, "initialize", {}),
        ask(3, "tools/list"),
    ],
    "notifications": [
        tell("notifications/initialized"),
        tell("nope"),
        tell("tools/list"),
        GREET,
        tell("notifications/cancelled", {"requestId": 5}),
        tell("notifications/cancelled"),
        tell("notifications/roots/list_changed"),
        tell("notifications/progress", {"progressToken": 1, "progress": 1}),
        ask(1, "ping"),
    ],
    "answers to what nobody asked": [
        GREET,
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "no"}},
        ask(1, "ping"),
    ],
}
LEGACY_PARAMS = {
    f"{method}, {key}": [
        GREET,
        *(ask(number, method, {**VALID.get(method, {}), key: value}) for number, value in enumerate(ODD)),
    ]
    for method, keys in {
        "ping": ["_meta", "cursor"],
        "tools/list": ["_meta", "cursor"],
        "logging/setLevel": ["_meta", "level"],
        "tools/call": ["_meta", "name", "arguments"],
    }.items()
    for key in keys
}
MODERN_PARAMS = {
    f"{method}, {key}": [
        OPEN,
        *(
            ask(number, method, {**VALID.get(method, {}), "_meta": {**MODERN_META, key: value}})
            for number, value in enumerate([*ODD, None] if key != "progressToken" else ODD)
        ),
        ask("absent", method, {**VALID.get(method, {}), "_meta": less(MODERN_META, key)}),
        ask("cursor", method, {**VALID.get(method, {}), **modern(cursor=7)}),
        *(ask(f"meta {n}", method, {**VALID.get(method, {}), "_meta": value}) for n, value in enumerate(ODD)),
    ]
    for method in ("tools/list", "server/discover", "tools/call")
    for key in (*MODERN_META, LOG_LEVEL, "progressToken")
}
LEGACY_TOKENS = {
    f"{method}, progress token": [
        GREET,
        *(
            ask(number, method, {**VALID.get(method, {}), "_meta": {"progressToken": token}})
            for number, token in enumerate(ODD)
        ),
    ]
    for method in ("ping", "tools/list", "logging/setLevel", "tools/call")
}
CONVERSATIONS = {
    "handshakes": HANDSHAKES | PARTIAL_HANDSHAKES,
    "odd handshakes": ODD_HANDSHAKES,
    "openings": OPENINGS,
    "handshake era": LEGACY_PARAMS | LEGACY_TOKENS,
    "modern era": MODERN_PARAMS,
}


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    async with read_counter(FakeServer("files", [tool("read")], tools={"read": lambda _: text("read")})) as opened:
        # A connection that was only read over is closed soon, and lists would say so in between.
        assert (await opened.execute_tool("files", "read")).error is None
        yield opened


@pytest.mark.parametrize("group", CONVERSATIONS)
async def test_each_message_is_answered_as_the_sdk_answers_it(gateway: Gateway, group: str) -> None:
    for name, messages in CONVERSATIONS[group].items():
        ours, theirs = await both_answers(gateway, messages)

        assert ours == theirs, name
        requests = [message for message in messages if "id" in message and "method" in message]
        assert [answer["id"] for answer in ours] == [request["id"] for request in requests]


@pytest.mark.parametrize("opening", [ask("first", "ping"), GREET, OPEN], ids=["none", "legacy", "modern"])
async def test_odd_messages_are_answered_as_the_sdk_answers_them(gateway: Gateway, opening: dict[str, Any]) -> None:
    odd, compared = OddMessages(seed=20261116), 0
    ours = OurPeer(gateway)
    async with sdk_peer(gateway) as theirs:
        await ours.send(opening)
        await theirs.send(opening)
        for message in filter(None, (_comparable_message(odd.line()) for _ in range(ODD_LINES))):
            await ours.send(message)
            await theirs.send(message)
            compared += 1
        assert [comparable(answer) for answer in ours.answers] == [comparable(answer) for answer in theirs.answers]

    assert compared > ODD_LINES / 4


def _comparable_message(line: bytes) -> dict[str, Any] | None:
    """The message in a line, unless it is one of those that the tests below are about."""
    if not is_message(line):
        return None
    message: dict[str, Any] = jsonrpc_message_adapter.validate_json(line).model_dump(exclude_unset=True)
    is_whole = set(message) >= set(json.loads(line)) & {
        "id"
    }  # the SDK takes a request with an odd id for a notification
    left_out = [*UNSERVED_WITH_PARAMS, "subscriptions/listen", "tools/call"]
    return message if is_whole and message.get("method") not in left_out else None


@pytest.mark.parametrize("method", [*UNSERVED_WITH_PARAMS, "subscriptions/listen"])
@pytest.mark.parametrize("opening", [GREET, OPEN], ids=["legacy", "modern"])
async def test_a_method_we_do_not_have_is_not_found_whatever_its_parameters_are(
    opening: dict[str, Any], method: str
) -> None:
    """The SDK speaks of wrong parameters first, as if right ones would help."""
    async with counter(native="off") as gateway:
        ours = OurPeer(gateway)
        await ours.send(opening)
        await ours.send(ask(1, method, modern() if opening is OPEN else {}))

    error = {"code": METHOD_NOT_FOUND, "message": "Method not found", "data": method}
    assert ours.answers[-1] == {"jsonrpc": "2.0", "id": 1, "error": error}


@pytest.mark.parametrize(
    "params",
    [
        {**HELLO, "capabilities": {"roots": True, "sampling": {"tools": 7}}},
        {**HELLO, "clientInfo": {"name": "a", "version": "1", "title": 3, "icons": "none"}},
        {**HELLO, "_meta": {"progressToken": None}},
    ],
)
async def test_what_a_client_says_wrongly_of_things_we_never_read_does_not_shut_it_out(
    gateway: Gateway, params: dict[str, Any]
) -> None:
    ours = OurPeer(gateway)
    await ours.send(ask(1, "initialize", params))
    await ours.send(ask(2, "tools/list"))

    assert len(ours.answers[-1]["result"]["tools"]) == 5


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":7}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized","params":"x"}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0"}',
        b'{"jsonrpc":"2.0","id":1,"result":7}',
        b'{"jsonrpc":"2.0","id":null,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"y"}}',
        b'{"jsonrpc":"2.0","id":1,"error":{}}',
        b'{"jsonrpc":"2.0","error":{"code":1,"message":"y"}}',
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
    ],
)
async def test_what_the_sdk_takes_for_no_message_is_refused_and_the_next_one_answered(
    gateway: Gateway, line: bytes
) -> None:
    ours = OurPeer(gateway)
    await ours.send(line)
    await ours.send(ask(2, "ping"))

    assert not is_message(line)
    refused, answered = ours.answers
    assert refused["error"]["code"] == INVALID_REQUEST
    assert refused["id"] == (1 if b'"id":1' in line and not line.startswith(b"[") else None)
    assert answered == {"jsonrpc": "2.0", "id": 2, "result": {}}


async def test_a_cancelled_call_is_never_answered_and_others_go_on() -> None:
    hanging = asyncio.Event()

    async def hang(_: dict[str, Any]) -> dict[str, Any]:
        hanging.set()
        await asyncio.Event().wait()
        return text("never")

    async with read_counter(FakeServer("files", [tool("hang")], tools={"hang": hang})) as gateway:
        ours = OurPeer(gateway)
        await ours.send(GREET)
        asked = {"name": "execute_tool", "arguments": {"server": "files", "tool": "hang", "arguments": {}}}
        ours.session.feed(json.dumps(ask(1, "tools/call", asked)).encode())
        await asyncio.wait_for(hanging.wait(), 10)
        for request_id in (None, [], 99, 1):
            await ours.send(tell("notifications/cancelled", {"requestId": request_id}))
        await ours.send(ask(2, "tools/call", LIST_SERVERS))
        await asyncio.wait_for(ours.session.calls.drain(10), 15)
        await eventually(lambda: len(ours.answers) > 1)

    assert [answer["id"] for answer in ours.answers] == ["hello", 2]

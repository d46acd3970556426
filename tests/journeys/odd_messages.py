"""Messages that are almost right, wrong in one place, or no messages at all; the same ones for the same seed."""

from __future__ import annotations

import json
import random
from typing import Any

MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "odd", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
METHODS = [
    *("initialize", "notifications/initialized", "tools/list", "tools/call", "ping", "logging/setLevel"),
    *("notifications/cancelled", "notifications/progress", "notifications/roots/list_changed", "resources/list"),
    *("prompts/get", "completion/complete", "server/discover", "subscriptions/listen", "roots/list", "tasks/get"),
    *("sampling/createMessage", "resources/subscribe", "", "x" * 300),
]
NAMES = ["list_mcp_servers", "search_tools", "list_tools", "get_tool_details", "execute_tool", "nope"]
KEYS = (
    "name arguments _meta server tool query limit cursor level requestId progressToken protocolVersion capabilities "
    "clientInfo id uri".split()
)
ODD_VALUES: list[Any] = [
    *(None, True, 0, -1, 1.5, 2**70, -(2**70), 1e308, "", "x", "\ud800", "\0", "💥" * 10, [], {}, [[]], {"a": {}}),
    *("2026-07-28", "1999-01-01", [1, 2], {"_meta": None}, {"name": "execute_tool"}),
]
ODD_IDS: list[Any] = [7, "s", None, 1.5, -5, "", True, 2**70, [], {}]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "odd", "version": "1"}}
ECHO = {"server": "scripted", "tool": "echo", "arguments": {"text": "a"}}


class OddMessages:
    """An endless supply; `line()` gives the next one as bytes without a line end."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def line(self) -> bytes:
        text = json.dumps(self._message(), ensure_ascii=self._chance(0.5))
        return self.damaged(text.encode("utf-8", "surrogatepass"), chance=0.2).replace(b"\n", b" ")

    def damaged(self, data: bytes, *, chance: float) -> bytes:
        """The bytes, sometimes with a few of them changed, cut out or added."""
        result = bytearray(data)
        for _ in range(self.random.randrange(1, 4) if self._chance(chance) else 0):
            place = self.random.randrange(len(result) + 1)
            kept = place + self.random.choice([0, 1, 5])
            result[place:kept] = bytes([self.random.randrange(256)] * self.random.randrange(2))
        return bytes(result)

    def _chance(self, share: float) -> bool:
        return self.random.random() < share

    def _message(self) -> Any:
        if self._chance(0.1):
            kind = self.random.choice(["result", "error"])
            return {"jsonrpc": "2.0", "id": self.random.choice(ODD_IDS), kind: self._value()}
        method = self.random.choice(METHODS)
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": self._params(method)}
        if self._chance(0.75):
            message["id"] = self.random.choice(ODD_IDS) if self._chance(0.4) else self.random.randrange(10_000)
        for key in list(message):
            if self._chance(0.05):
                message[key] = self._value()
            elif self._chance(0.05):
                del message[key]
        return [message, message] if self._chance(0.03) else message

    def _params(self, method: str) -> Any:
        if self._chance(0.5):
            return self._value()
        arguments = self.random.choice([{"query": "x"}, ECHO, {"server": "scripted"}, self._value()])
        given = {
            "initialize": dict(HELLO),
            "tools/call": {"name": self.random.choice(NAMES), "arguments": arguments},
        }.get(method, {})
        if self._chance(0.6):
            given["_meta"] = dict(MODERN_META)
            if self._chance(0.4):
                given["_meta"][self.random.choice([*MODERN_META, "progressToken"])] = self._value()
        if given and self._chance(0.3):
            given[self.random.choice(list(given))] = self._value()
        return given

    def _value(self, depth: int = 0) -> Any:
        if depth < 3 and self._chance(0.3):
            return {self.random.choice(KEYS): self._value(depth + 1) for _ in range(self.random.randrange(4))}
        if depth < 3 and self._chance(0.2):
            return [self._value(depth + 1) for _ in range(self.random.randrange(3))]
        return self.random.choice(ODD_VALUES)

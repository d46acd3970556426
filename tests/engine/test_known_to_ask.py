"""What a server was seen asking is known to the next gateway that shares the catalog."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from tests.fakes import FakeServer, eventually, text, tool
from tests.gateways import read_counter
from toolcrib.gateway import Gateway
from toolcrib.model.asking import Question
from toolcrib.model.caller import Caller


class Asking(FakeServer):
    """An old server with a tool that asks for a name, without saying for which call."""

    def __init__(self) -> None:
        super().__init__(definitions=[tool("greet")], era="legacy")
        self.methods["tools/call"] = self._greet

    async def _greet(self, _: dict[str, Any]) -> Mapping[str, Any]:
        link = next(link for link in self.open_links if asyncio.current_task() in link.tasks)
        answer = await link.ask("elicitation/create", {"message": "Your name?"})
        return text(str(answer.get("result", {}).get("content", {}).get("name", "nobody")))


async def greeted(gateway: Gateway, name: str) -> str:
    async def ask(_: Question) -> Mapping[str, Any]:
        return {"action": "accept", "content": {"name": name}}

    caller = Caller(name, "stdio", f"stdio:{name}", session=name)
    outcome = await gateway.execute_tool("files", "greet", caller=caller, ask=ask, capabilities={"elicitation": {}})
    return str(outcome.value)


async def test_after_a_restart_no_question_of_two_clients_reaches_nobody() -> None:
    async with read_counter(Asking()) as gateway:
        assert await greeted(gateway, "Ann") == "Ann"
        await eventually(lambda: any(record.asks for record in gateway.workspace.view.catalog.records.values()))

    server = Asking()
    async with read_counter(server) as gateway:
        together = await asyncio.gather(greeted(gateway, "Ann"), greeted(gateway, "Bob"))

    assert together == ["Ann", "Bob"]
    assert server.starts == 2

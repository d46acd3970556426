"""Stand-ins for the APIs of two model vendors, on this machine: a model that knows what it wants and says no word more.

They speak as much of each API as its client needs: a streamed answer with one tool call, or with the last words.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Event = Mapping[str, Any]
MOST_WAITS = 20


@dataclass(frozen=True)
class Step:
    """A tool the model calls, and the arguments it gives."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass
class ScriptedModel:
    """Calls one tool after another and keeps what each answered; `asked` are the requests as they came."""

    steps: tuple[Step, ...]
    answers: list[str] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def app(self) -> Starlette:
        return Starlette(
            routes=[*self.routes(), Route("/{rest:path}", _anything_else, methods=["GET", "POST", "HEAD"])]
        )

    def routes(self) -> list[Route]:
        raise NotImplementedError


class AnthropicModel(ScriptedModel):
    """The Messages API, as Claude Code uses it."""

    def routes(self) -> list[Route]:
        return [Route("/v1/messages", self._messages, methods=["POST"])]

    async def _messages(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append(body)
        self.answers = [_text_of(block["content"]) for block in _blocks(body, "tool_result")]
        known = {tool.get("name") for tool in body.get("tools", ())}
        wanted = self.steps[len(self.answers)] if len(self.answers) < len(self.steps) else None
        if wanted is None or f"mcp__toolcrib__{wanted.tool}" not in known:
            return _stream(_anthropic_events({"type": "text", "text": "done"}, "end_turn"))
        call = {"type": "tool_use", "id": f"toolu_{len(self.answers)}", "name": f"mcp__toolcrib__{wanted.tool}"}
        return _stream(_anthropic_events(call, "tool_use", wanted.arguments))


def _blocks(body: Mapping[str, Any], kind: str) -> Iterable[Mapping[str, Any]]:
    contents = (message["content"] for message in body["messages"] if isinstance(message["content"], list))
    return (block for content in contents for block in content if block.get("type") == kind)


def _anthropic_events(block: Event, stop: str, arguments: Mapping[str, Any] | None = None) -> list[Event]:
    empty = {"id": "msg", "type": "message", "role": "assistant", "model": "stand-in", "content": []}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        if arguments is not None
        else {"type": "text_delta", "text": block["text"]}
    )
    begun = {**block, "input": {}} if arguments is not None else {**block, "text": ""}
    return [
        {"type": "message_start", "message": {**empty, "usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


class OpenAIModel(ScriptedModel):
    """The Responses API, as Codex uses it; its tools come in a namespace for each server."""

    def routes(self) -> list[Route]:
        return [Route("/v1/responses", self._responses, methods=["POST"])]

    async def _responses(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append(body)
        outputs = [item for item in body["input"] if item.get("type") == "function_call_output"]
        self.answers = [_text_of(item["output"]) for item in outputs if item["call_id"].startswith("step")]
        return _stream(self._events(self._item(body, waits=len(outputs) - len(self.answers))))

    def _item(self, body: Mapping[str, Any], waits: int) -> Event:
        namespace = next((tool["name"] for tool in body["tools"] if "toolcrib" in str(tool.get("name"))), None)
        if namespace is None and waits < MOST_WAITS:
            # Codex asks the model before its servers have started: let it come back a moment later.
            return _function_call(f"wait{waits}", "exec_command", {"cmd": "sleep 0.5"})
        number = len(self.answers)
        if namespace is None or number >= len(self.steps):
            return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
        step = self.steps[number]
        return {**_function_call(f"step{number}", step.tool, step.arguments), "namespace": namespace}

    def _events(self, item: Event) -> list[Event]:
        answer = {"id": f"response-{len(self.asked)}"}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        return [
            {"type": "response.created", "response": answer},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**answer, "usage": usage}},
        ]


def _function_call(call_id: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


def _text_of(content: Any) -> str:
    """The words of a tool's answer, which is a text or a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content)


def _stream(events: Iterable[Event]) -> Response:
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return Response(body, media_type="text/event-stream")


async def _anything_else(_: Request) -> Response:
    return JSONResponse({})


@asynccontextmanager
async def served(model: ScriptedModel) -> AsyncIterator[str]:
    """The address the model is reached at while the block lasts."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(model.app(), log_level="warning", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving

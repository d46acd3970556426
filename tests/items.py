"""Servers in memory that offer prompts, resources and templates."""

from __future__ import annotations

import json
from typing import Any, Literal

from tests.fakes import FakeServer, tool
from toolcrib.wire.jsonrpc import INVALID_PARAMS, RpcError

REVIEW = {
    "name": "review",
    "title": "Review",
    "description": "Asks for a code review of a change.",
    "arguments": [
        {"name": "change", "description": "The change to look at", "required": True},
        {"name": "tone", "description": "How strict to be"},
    ],
}
PICTURE = {"name": "picture", "description": "Shows a picture and asks about it."}
README = {
    "uri": "file:///work/README.md",
    "name": "README",
    "description": "How to begin.",
    "mimeType": "text/markdown",
}
LOGO = {"uri": "file:///work/logo.png", "name": "logo", "mimeType": "image/png"}
TABLE = {"uriTemplate": "db://tables/{table}", "name": "table", "description": "The rows of one table."}
ODD = {"uriTemplate": "db://parts/{path*}", "name": "parts", "description": "Any part."}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
CAPABILITIES = {"tools": {}, "prompts": {"listChanged": True}, "resources": {"subscribe": True}, "completions": {}}


def library(name: str = "library", era: Literal["modern", "legacy"] = "modern", **more: Any) -> FakeServer:
    """A server with two prompts, two resources and two templates; it answers addresses that it did not list, too."""
    offered = {"capabilities": CAPABILITIES, **more}
    server = FakeServer(name, [tool("borrow_book", "Lend a book out.")], era, **offered)
    server.methods = {
        "prompts/list": lambda _: {"prompts": [REVIEW, PICTURE]},
        "resources/list": lambda _: {"resources": [README, LOGO]},
        "resources/templates/list": lambda _: {"resourceTemplates": [TABLE, ODD]},
        "prompts/get": _prompt,
        "resources/read": _contents,
        "completion/complete": _completed,
        **server.methods,
    }
    return server


def _prompt(params: dict[str, Any]) -> dict[str, Any]:
    given = params.get("arguments", {})
    if params["name"] == "picture":
        messages = [{"role": "user", "content": IMAGE}, {"role": "user", "content": _text("What is it?")}]
        return {"description": "A picture", "messages": messages}
    if params["name"] != "review":
        raise RpcError(INVALID_PARAMS, "no such prompt")
    return {"messages": [{"role": "user", "content": _text(f"Review {json.dumps(given, sort_keys=True)}")}]}


def _contents(params: dict[str, Any]) -> dict[str, Any]:
    uri = params["uri"]
    if "missing" in uri:
        raise RpcError(-32002, "Resource not found", {"uri": uri})
    if uri.endswith(".png"):
        return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": "aGk="}]}
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": f"content of {uri}"}]}


def _completed(params: dict[str, Any]) -> dict[str, Any]:
    begun = params["argument"]["value"]
    values = [word for word in ("books", "borrowers", "shelves") if word.startswith(begun)]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}

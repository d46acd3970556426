"""A small MCP server without dependencies: tools that fail, that only read, that talk while they run, and that wait."""

import json
import os
import sys
import time

HOSTILE = "\x1b[31mred\x1b[0m\x1b]52;c;aGFjaw==\x07\u202eevil\u200b\r\x9b2J"


def tool(name, description, properties=None, required=(), **more):
    schema = {"type": "object", "properties": properties or {}, "required": list(required)}
    return {"name": name, "description": description, "inputSchema": schema, **more}


# Every kind of parameter a person may type; the tools of this server give back what they were given.
TYPED = {
    "text": {"type": "string"},
    "count": {"type": "integer", "minimum": 0},
    "share": {"type": "number"},
    "loud": {"type": "boolean"},
    "state": {"enum": ["open", "closed", 3]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "sizes": {"type": "array", "items": {"type": "integer"}},
    "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "limit": {"type": ["integer", "null"]},
    "where": {"$ref": "#/$defs/place"},
    "dotted.name": {"type": "string"},
    "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
    "anything": {},
}
PLACE = {"type": "object", "properties": {"city": {"type": "string"}, "floor": {"type": "integer"}, "more": {}}}

TOOLS = {
    "typed": [
        {
            **tool("book", "Give the arguments back."),
            "inputSchema": {"type": "object", "properties": TYPED, "$defs": {"place": PLACE}},
        },
        {
            **tool("open", "Take whatever is given."),
            "inputSchema": {
                "type": "object",
                "properties": {"count": {"type": "integer"}},
                "additionalProperties": True,
            },
        },
        tool("needy", "Need a city.", {"city": {"type": "string"}, "zone": {"type": "string"}}, ["city"]),
    ],
    "friendly": [
        tool("ping", "Say pong.", annotations={"readOnlyHint": True}),
        tool("fail", "Always fail."),
        tool("talk", "Report progress and log messages, then end."),
        tool("wait", "Wait for ever."),
        tool("echo", "Give a text back.", {"text": {"type": "string"}}, ["text"]),
        tool("picture", "Give a picture."),
        tool("shape", "Give structured content only."),
    ],
    "asking": [
        tool("weather", "Give words and structured content."),
        tool("ask", "Ask for an account in place of an answer."),
        tool("sign_in", "Refuse until somebody signed in."),
    ],
    "hostile": [
        tool(f"show{HOSTILE}", f"Describe {HOSTILE}", {f"p{HOSTILE}": {"type": "string", "description": HOSTILE}})
    ],
    "outside": [
        tool("find", "Find something.", {"q": {"$ref": "https://example.com/q.json"}}),
        tool("other", "Check me."),
    ],
    "broken": [tool("look", "Look, and fail.", annotations={"readOnlyHint": True})],
}


def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(id, params):
    name, arguments = params["name"], params.get("arguments") or {}
    if name == "talk":
        token = params["_meta"]["progressToken"]
        say(
            method="notifications/progress",
            params={"progressToken": token, "progress": 1, "total": 2, "message": "half\x1b[2J"},
        )
        say(method="notifications/message", params={"level": "info", "data": "nearly there"})
    elif name == "wait":
        sys.stderr.write("waiting\n")
        sys.stderr.flush()
        with open(os.environ["WAITING_FILE"], "w") as file:
            file.write(str(os.getpid()))
        time.sleep(600)
    answers = {
        "ping": text("pong"),
        "fail": text("the machine is on fire", isError=True),
        "look": text("blind today", isError=True),
        "talk": text("done"),
        "echo": text(arguments.get("text", "")),
        "picture": {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]},
        "book": {"content": [], "structuredContent": arguments},
        "open": {"content": [], "structuredContent": arguments},
        "needy": {"content": [], "structuredContent": arguments},
        "shape": {"content": [], "structuredContent": {"sides": 3}},
        "weather": text("It is 21 degrees in Oslo.", structuredContent={"degrees": 21}),
        "ask": {
            "resultType": "input_required",
            "inputRequests": {"account": {"method": "elicitation/create", "params": {"message": "Which account?"}}},
        },
    }
    if name == "sign_in":
        asked = {"mode": "url", "url": "https://example.com/sign-in"}
        say(id=id, error={"code": -32042, "message": "sign in first", "data": {"elicitations": [asked]}})
        return
    say(id=id, result=answers.get(name, text(HOSTILE)))


def answer(message):
    id, method = message["id"], message["method"]
    if method == "initialize":
        info = {"name": "workshop", "version": "1"}
        capabilities = {"tools": {}, "logging": {}}
        say(id=id, result={"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info})
    elif method == "tools/list":
        say(id=id, result={"tools": TOOLS[sys.argv[1]]})
    elif method == "tools/call":
        call(id, message["params"])
    elif method == "logging/setLevel":
        say(id=id, result={})
    else:
        say(id=id, error={"code": -32601, "message": "no such method"})


sys.stderr.write(f"workshop {sys.argv[1]} \x1b[32mready\x1b[0m \x1b]0;title\x07\n")
sys.stderr.flush()
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        answer(message)

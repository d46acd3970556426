"""A small MCP server of the handshake era that tells where it runs, what it was given, and how often it was called."""

import json
import os
import sys

calls = []
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("tell", "hang", "die", "say", "ask")]


def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def asked(method):
    """What the client answers to a question of ours."""
    say(id=method, method=method, params={"message": "Who are you?", "requestedSchema": {"type": "object"}})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == method:
            return {name: message[name] for name in ("result", "error") if name in message}
    return {}


def call(id, name, arguments):
    calls.append(name)
    if name == "die":
        sys.stderr.write(f"the last words of {os.environ.get('TOKEN', 'nobody')}\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "say":
        sys.stderr.write(arguments["words"] + "\n")
        sys.stderr.flush()
    if name == "ask":
        answers = {method: asked(method) for method in ("roots/list", "elicitation/create", "sampling/createMessage")}
        say(id=id, result={"content": [], "structuredContent": answers})
    elif name != "hang":
        told = {
            "pid": os.getpid(),
            "folder": os.getcwd(),
            "env": dict(os.environ),
            "calls": len(calls),
            "program": sys.argv[0],
        }
        say(id=id, result={"content": [], "structuredContent": told})


for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if method == "initialize":
        info = {"name": "telling", "version": "1"}
        capabilities = {"tools": {}}
        say(id=id, result={"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info})
    elif method == "tools/list":
        say(id=id, result={"tools": TOOLS})
    elif method == "tools/call":
        call(id, params["name"], params.get("arguments", {}))
    elif id is not None:
        say(id=id, error={"code": -32601, "message": "unknown"})

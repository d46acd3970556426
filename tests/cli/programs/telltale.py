"""A server that tells all it was given: how, is its first argument. What it knows is in variables and further arguments."""

import base64
import json
import os
import sys

MANNER = sys.argv[1]
KNOWN = [value for name, value in sorted(os.environ.items()) if name.startswith("TELLTALE_")] + sys.argv[2:]
WORDS = " and ".join(KNOWN)
NUMBERS = [int(value) for value in KNOWN if value.isdigit()]


def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if MANNER == "exit":
    sys.stderr.write(f"refused: {WORDS}\n")
    sys.stderr.write(f"encoded: {base64.b64encode(('user:' + WORDS).encode()).decode()}\n")
    sys.stderr.write(f"the last line has no end: {WORDS}")
    sys.exit(1)

for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if id is None:
        continue
    if method == "initialize" and MANNER == "refuse":
        say(id=id, error={"code": -32000, "message": f"no entry with {WORDS}", "data": {"seen": KNOWN + NUMBERS}})
    elif method == "initialize":
        info = {"name": "telltale", "version": "1", "description": f"started with {WORDS}"}
        capabilities = {"tools": {}, "logging": {}}
        say(
            id=id,
            result={
                "protocolVersion": "2025-06-18",
                "capabilities": capabilities,
                "serverInfo": info,
                "instructions": WORDS,
            },
        )
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"pin": {"type": "integer", "examples": NUMBERS}}}
        say(id=id, result={"tools": [{"name": "tell", "description": f"Tells {WORDS}.", "inputSchema": schema}]})
    elif method == "tools/call" and MANNER == "fail":
        say(method="notifications/message", params={"level": "info", "data": f"calling with {WORDS}"})
        sys.stderr.write(f"called with {WORDS}\n")
        sys.stderr.flush()
        say(id=id, error={"code": -32001, "message": f"failed with {WORDS}", "data": {"seen": KNOWN + NUMBERS}})
    elif method == "tools/call":
        say(id=id, result={"content": [{"type": "text", "text": WORDS}], "structuredContent": {"seen": NUMBERS}})
    elif method == "logging/setLevel":
        say(id=id, result={})
    else:
        say(id=id, error={"code": -32601, "message": "no such method"})

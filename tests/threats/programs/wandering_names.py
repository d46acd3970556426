"""A server whose tools are called as its argument says, a JSON list; it writes to its standard error at each call."""

import json
import sys

NAMES = json.loads(sys.argv[1])


def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if id is None:
        continue
    if method == "initialize":
        info = {"name": NAMES[0], "version": "../../version"}
        say(id=id, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        tools = [{"name": name, "description": "Looks around.", "inputSchema": {"type": "object"}} for name in NAMES]
        say(id=id, result={"tools": tools})
    elif method == "tools/call":
        sys.stderr.write("called\n")
        sys.stderr.flush()
        say(id=id, result={"content": [{"type": "text", "text": "x" * 200_000}]})
    else:
        say(id=id, error={"code": -32601, "message": "no such method"})

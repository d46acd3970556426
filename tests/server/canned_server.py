"""An MCP server for tests: the tools and results of a JSON file, in the handshake era. Standard library only.

python -I -S canned_server.py FILE
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        canned = json.load(file)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(canned, message)}), flush=True)


def answer(canned: dict, message: dict) -> dict:
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        info = {"name": "canned", "version": "1"}
        version = params["protocolVersion"]
        return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        return {"result": {"tools": canned["tools"]}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": canned["results"][params["name"]]}]}}
    return {"error": {"code": -32601, "message": f"{method} is not served here"}}


if __name__ == "__main__":
    main()

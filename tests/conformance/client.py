"""What a suite starts as the client under test: it hands the scenario to the test, which has everything loaded already.

python client.py PORT URL
"""

import json
import os
import socket
import sys

PORT, URL = sys.argv[1:]
scenario = {
    "url": URL,
    "name": os.environ["MCP_CONFORMANCE_SCENARIO"],
    "context": json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}"),
}
with socket.create_connection(("127.0.0.1", int(PORT))) as test:
    test.sendall(json.dumps(scenario).encode() + b"\n")
    outcome = json.loads(test.makefile().readline())
print(outcome["said"], file=sys.stderr)
sys.exit(outcome["code"])

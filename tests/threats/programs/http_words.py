"""A server over HTTP that answers tools/call with exactly the JSON text in a file; standard library only."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TOOLS = [
    {"name": name, "description": "Looks something up.", "inputSchema": {"type": "object"}}
    for name in ("look", "delete_all")
]
RESULT = Path(sys.argv[1]).read_text(encoding="utf-8")


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method = message.get("method")
        info = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "web", "version": "1"},
        }
        if method == "server/discover":
            error = json.dumps({"code": -32601, "message": "not here"})
            return self.say(message["id"], "error", error)
        known = {"initialize": json.dumps(info), "tools/list": json.dumps({"tools": TOOLS}), "tools/call": RESULT}
        if "id" not in message:
            self.send_response(202)
            self.send_header("content-length", "0")
            self.end_headers()
            return None
        return self.say(message["id"], "result", known.get(method, "{}"))

    def do_GET(self):
        self.send_error(405)

    def say(self, id, kind, text):
        data = f'{{"jsonrpc":"2.0","id":{id},"{kind}":{text}}}'.encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()

"""The bare pass-through: what a gateway costs that does nothing but pass on.

    python -I -S bench/pass_through.py COMMAND [ARGUMENT ...]

Standard library only, no SDK. A line from the client is parsed, its id is replaced by one of our own, it is written to
the server; the answer is parsed and gets the client's id back. One thread and one `select` over both pipes: on this
work that is quicker than asyncio and than two blocking threads, so it is the lowest floor that still lets calls
overlap. It is a program that nobody imports.
"""

import json
import os
import select
import subprocess
import sys


class Relay:
    """Two directions of JSON lines and the ids that are under way."""

    def __init__(self):
        self.client_ids = {}
        self.last_id = 0

    def to_server(self, line):
        message = json.loads(line)
        if "id" in message:
            self.last_id += 1
            self.client_ids[self.last_id] = message["id"]
            message["id"] = self.last_id
        return encode(message)

    def to_client(self, line):
        message = json.loads(line)
        if "id" in message:
            message["id"] = self.client_ids.pop(message["id"])
        return encode(message)


def encode(message):
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def write_all(descriptor, data):
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def pump(child):
    relay = Relay()
    source, target = child.stdout.fileno(), child.stdin.fileno()
    routes = {0: (relay.to_server, target), source: (relay.to_client, 1)}
    rests = {0: b"", source: b""}
    while True:
        for descriptor in select.select(list(routes), [], [])[0]:
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                return
            change, output = routes[descriptor]
            *lines, rests[descriptor] = (rests[descriptor] + chunk).split(b"\n")
            write_all(output, b"".join([change(line) for line in lines if line]))


child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
try:
    pump(child)
finally:
    child.stdin.close()
    child.wait(5)

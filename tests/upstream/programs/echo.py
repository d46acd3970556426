"""Answers JSON-RPC lines on its standard streams, in ways a test can ask for."""

import json
import os
import sys

received = []
gathered = []


def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def gather(id, params):
    gathered.append((id, params))
    if len(gathered) == params["count"]:
        for waiting, given in reversed(gathered):
            say(id=waiting, result=given)


def die(_id, params):
    sys.stderr.write(params["words"])
    sys.stderr.flush()
    os._exit(params["status"])


def chat(id, _params):
    sys.stdout.write("this line is no message\n")
    say(method="notifications/message", params={"level": "info", "data": "hello"})
    say(id="from-server", method="ping")
    say(id=77, method="roots/list")
    say(id=id, result={})


METHODS = {
    "echo": lambda id, params: say(id=id, result=params),
    "tools/call": lambda id, params: METHODS[params["as"]](id, params),
    "refuse": lambda id, _params: say(id=id, error={"code": -32602, "message": "no", "data": {"why": "test"}}),
    "seen": lambda id, _params: say(id=id, result=received),
    "surroundings": lambda id, _params: say(id=id, result={"env": dict(os.environ), "cwd": os.getcwd()}),
    "hang": lambda _id, _params: None,
    "gather": gather,
    "chat": chat,
    "die": die,
}

for line in sys.stdin:
    message = json.loads(line)
    received.append(message)
    if message.get("method") in METHODS:
        METHODS[message["method"]](message.get("id"), message.get("params"))

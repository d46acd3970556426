"""A small MCP server that writes down every line it is sent and behaves, or misbehaves, as its tools say.

Its arguments: the log file, the era it speaks (legacy, modern, or whichever the file `<log>.era` names), and how it
behaves (plain, silent, crash, stubborn, deaf-to-levels).
"""

import json
import os
import signal
import subprocess
import sys
import time

LOG, ERA, MANNER = (*sys.argv[1:], "plain")[:3]
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
INFO = {"name": "scripted", "version": "1"}

if ERA == "file":
    with open(LOG + ".era", encoding="utf-8") as named:
        ERA = named.read()


def record(**fact):
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(json.dumps({"pid": os.getpid(), **fact}) + "\n")


def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(id, text, **more):
    say(id=id, result={"content": [{"type": "text", "text": text}], **more})


def tool(name, description, properties=None, **more):
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties or {}},
        **more,
    }


NUMBER, TEXT = {"type": "integer"}, {"type": "string"}
TOOLS = [
    tool("echo", "Repeat a text.", {"text": TEXT}),
    tool("hang", "Never answer."),
    tool("look", "Never answer the first time it is asked, then always.", annotations={"readOnlyHint": True}),
    tool("wait", "Answer once a file beside the log appears."),
    tool("die", "End the whole server without an answer."),
    tool("grow", "Learn one more tool and say so many times.", {"times": NUMBER}),
    tool("big", "A long text in many lines.", {"characters": NUMBER}),
    tool("table", "A long table as structured content.", {"rows": NUMBER}),
    tool("page", "A text beside structured content that says something else."),
    tool("log", "Structured content with a long text in it.", {"lines": NUMBER}),
    tool("noise", "Write what is no protocol to standard output."),
    tool("steps", "Report progress and log messages.", {"count": NUMBER}),
    tool("crawl", "Report progress, slowly.", {"steps": NUMBER, "seconds": {"type": "number"}}),
    tool("fail", "Say that it failed."),
    tool("ask", "Ask the user something in place of an answer."),
    tool("task", "Start a task in place of an answer."),
    tool("sign_in", "Refuse until somebody signed in."),
    tool("weather", "Words and structured content."),
]
subscriptions = []
state = {"initialized": ERA == "modern"}


def grow(id, arguments, _meta):
    TOOLS.append(tool("grown", "A tool that was not there before."))
    for _ in range(arguments.get("times", 1)):
        for subscription in subscriptions or [None]:
            tag = {"_meta": {SUBSCRIPTION: subscription}} if subscription is not None else {}
            say(method="notifications/tools/list_changed", params=tag)
    answer(id, "grown")


def look(id, _arguments, _meta):
    if not os.path.exists(LOG + ".looked"):
        open(LOG + ".looked", "w").close()
    else:
        answer(id, "seen")


def wait(id, _arguments, _meta):
    while not os.path.exists(LOG + ".go"):
        time.sleep(0.01)
    answer(id, "waited")


def big(id, arguments, _meta):
    line = "line {:07d} of a long text, naïve and 長い\n"
    count = arguments["characters"] // len(line.format(0)) + 1
    answer(id, "".join(line.format(number) for number in range(count))[: arguments["characters"]])


def table(id, arguments, _meta):
    rows = [{"row": number, "name": f"name of {number}"} for number in range(arguments["rows"])]
    answer(id, json.dumps({"rows": rows}), structuredContent={"rows": rows})


def page(id, _arguments, _meta):
    answer(id, "# A page", structuredContent={"source": "readability"})


def log(id, arguments, _meta):
    lines = "\n".join(f"line {number} of the naïve log" for number in range(arguments["lines"]))
    say(id=id, result={"content": [], "structuredContent": {"jobs": [{"name": "build", "output": lines}]}})


def noise(id, _arguments, _meta):
    sys.stdout.write("Listening on port 3000\n{broken json\n\n[]\n")
    sys.stderr.write("a complaint\n")
    answer(id, "quiet again")


def steps(id, arguments, meta):
    for number in range(1, arguments["count"] + 1):
        say(method="notifications/message", params={"level": "info", "data": f"step {number}"})
        token = {"progressToken": meta.get("progressToken"), "progress": number, "total": arguments["count"]}
        say(method="notifications/progress", params={**token, "message": f"at {number}"})
    say(method="notifications/message", params={"level": "debug", "data": "too quiet to be heard"})
    answer(id, "done")


def ask(id, _arguments, _meta):
    question = {"method": "elicitation/create", "params": {"message": "Which account?", "requestedSchema": {}}}
    say(id=id, result={"resultType": "input_required", "inputRequests": {"account": question}, "requestState": "s"})


def task(id, _arguments, _meta):
    say(id=id, result={"resultType": "task", "taskId": "t-1", "status": "working", "pollIntervalMs": 100})


def sign_in(id, _arguments, _meta):
    asked = {"mode": "url", "url": "https://example.com/sign-in", "elicitationId": "1", "message": "Sign in."}
    say(id=id, error={"code": -32042, "message": "sign in first", "data": {"elicitations": [asked]}})


def crawl(id, arguments, meta):
    for number in range(arguments["steps"]):
        time.sleep(arguments["seconds"])
        say(method="notifications/progress", params={"progressToken": meta.get("progressToken"), "progress": number})
    answer(id, "there")


CALLS = {
    "ask": ask,
    "task": task,
    "sign_in": sign_in,
    "weather": lambda id, _arguments, _meta: answer(id, "It is 21 degrees in Oslo.", structuredContent={"degrees": 21}),
    "echo": lambda id, arguments, _meta: answer(id, arguments.get("text", "")),
    "grown": lambda id, _arguments, _meta: answer(id, "from the grown tool"),
    "fail": lambda id, _arguments, _meta: answer(id, "it did not work", isError=True),
    "hang": lambda _id, _arguments, _meta: None,
    "die": lambda _id, _arguments, _meta: os._exit(3),
    "grow": grow,
    "look": look,
    "wait": wait,
    "big": big,
    "table": table,
    "page": page,
    "log": log,
    "noise": noise,
    "steps": steps,
    "crawl": crawl,
}


def initialize(id, params):
    state["initialized"] = True
    capabilities = {"tools": {"listChanged": True}, "logging": {}}
    say(id=id, result={"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": INFO})


def discover(id, _params):
    meta = {"io.modelcontextprotocol/serverInfo": INFO}
    result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": True}, "logging": {}}}
    say(id=id, result={**result, "resultType": "complete", "ttlMs": 0, "cacheScope": "public", "_meta": meta})


def listen(id, _params):
    subscriptions.append(id)
    say(method="notifications/subscriptions/acknowledged", params={"_meta": {SUBSCRIPTION: id}})


def call(id, params):
    CALLS[params["name"]](id, params.get("arguments") or {}, params.get("_meta") or {})


SHARED = {
    "tools/list": lambda id, _params: say(id=id, result={"tools": TOOLS}),
    "tools/call": call,
}
LEGACY = {"initialize": initialize, "logging/setLevel": lambda id, _params: say(id=id, result={}), **SHARED}
MODERN = {"server/discover": discover, "subscriptions/listen": listen, **SHARED}


def serve():
    methods = {"legacy": LEGACY, "modern": MODERN}[ERA]
    for line in sys.stdin:
        message = json.loads(line)
        record(line=message)
        if MANNER == "silent" or "id" not in message:
            continue
        if MANNER == "deaf-to-levels" and message["method"] == "logging/setLevel":
            continue
        handle = methods.get(message["method"])
        if not state["initialized"] and message["method"] not in {"initialize", "server/discover"}:
            say(id=message["id"], error={"code": -32602, "message": "not initialized yet"})
        elif handle is None:
            say(id=message["id"], error={"code": -32601, "message": "Method not found"})
        else:
            handle(message["id"], message.get("params") or {})


record(start=True)
if MANNER == "crash":
    sys.exit("no such database")
if MANNER == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleeper = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"]
    children = [subprocess.Popen(sleeper) for _ in range(2)]
serve()
if MANNER == "stubborn":
    time.sleep(60)

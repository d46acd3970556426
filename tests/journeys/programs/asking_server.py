"""A small MCP server whose tools ask the client before they answer, in the way of its era. Standard library only.

python -I -S asking_server.py ERA [LOG]; the log gets every line that it is sent. A tool is a generator: it yields
questions by name, and is sent their answers.
"""

import json
import os
import sys
import threading

ERA, LOG = (*sys.argv[1:], "")[:2]
INFO = {"name": "asking", "version": "1"}
COMPLETE = "notifications/elicitation/complete"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
declared = {}
waiting = {}
signing_in = []
numbers = iter(range(1, 1_000_000))


def say(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def form(message):
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": FORM}}


def address(url):
    params = {"mode": "url", "message": "Please sign in", "url": url, "elicitationId": "e-1"}
    return {"method": "elicitation/create", "params": params}


def prompt(text):
    said = {"role": "user", "content": {"type": "text", "text": text}}
    return {"method": "sampling/createMessage", "params": {"messages": [said], "maxTokens": 10}}


FOLDERS = {"method": "roots/list", "params": {}}


class Refusal(Exception):
    """The tool ends with a JSON-RPC error."""

    def __init__(self, error):
        self.error = error


def name(_):
    return (yield {"who": form("What is your name?")})["who"]


def form_of_all(_):
    """A field of each kind."""
    colours = {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]}
    fields = {
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "height": {"type": "number", "default": 1.8},
        "fine": {"type": "boolean"},
        "colour": {**colours, "description": "of the car"},
        "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue", "wed"]}},
        "note": {"type": "string"},
    }
    schema = {"type": "object", "properties": fields, "required": ["name", "age", "fine", "colour", "days"]}
    question = {"method": "elicitation/create", "params": {"message": "Please fill in", "requestedSchema": schema}}
    return (yield {"all": question})["all"]


def visit(arguments):
    return (yield {"page": address(arguments.get("url", "https://example.com/sign-in"))})["page"]


def model(_):
    return (yield {"thought": prompt("Think.")})["thought"]


def folders(_):
    return (yield {"where": FOLDERS})["where"]


def several(_):
    return (yield {"who": form("What is your name?"), "where": FOLDERS})


def twice(_):
    first = yield {"who": form("What is your name?")}
    second = yield {"friend": form("Who is your friend?")}
    return {**first, **second}


def many(arguments):
    for number in range(arguments["count"]):
        yield {"who": form(f"Question {number}")}
    return {"asked": arguments["count"]}


def later(arguments):
    for _ in range(arguments.get("times", 3)):
        yield {}
    return {"at": "last"}


def capabilities(_):
    return declared
    yield


def die(_):
    yield {"who": form("What is your name?")}
    os._exit(3)


def sign_in(arguments):
    """Wants a page opened first; a moment later somebody has done that."""
    signing_in.append("e-2")
    if len(signing_in) > arguments.get("refusals", 1):
        return {"signed": "in"}
    threading.Timer(0.3, lambda: say(method=COMPLETE, params={"elicitationId": "e-2"})).start()
    asked = {"mode": "url", "url": "https://example.com/sign-in", "elicitationId": "e-2", "message": "Sign in."}
    raise Refusal({"code": -32042, "message": "sign in first", "data": {"elicitations": [asked]}})
    yield


def needs_model(_):
    if "sampling" not in declared:
        data = {"requiredCapabilities": {"sampling": {}}}
        raise Refusal({"code": -32021, "message": "a model is needed", "data": data})
    return (yield {"thought": prompt("Think.")})["thought"]


TOOLS = {
    tool.__name__: tool
    for tool in (
        *(name, visit, model, folders, several, twice, many),
        *(later, capabilities, die, sign_in, needs_model, form_of_all),
    )
}
DEFINITIONS = [{"name": name, "inputSchema": {"type": "object"}} for name in (*TOOLS, "work")]


TASKS = "io.modelcontextprotocol/tasks"
task = {"taskId": "task 1", "createdAt": "2026-01-01T00:00:00Z", "ttlMs": 60000, "pollIntervalMs": 50}


def work(id):
    """A tool that runs as a task only: it works, asks for a name, and ends with it."""
    if TASKS not in declared.get("extensions", {}):
        data = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        say(id=id, error={"code": -32021, "message": "tasks are needed", "data": data})
        return
    task.update(status="working", lastUpdatedAt="0")
    say(id=id, result={"resultType": "task", **task})


def look_at_task(id, params):
    if params["taskId"] != task["taskId"]:
        say(id=id, error={"code": -32602, "message": "no such task"})
        return
    if task["status"] == "working":
        task.update(status="input_required", inputRequests={"who": form("What is your name?")})
    say(id=id, result={"resultType": "complete", **task})


def update_task(id, params):
    del task["inputRequests"]
    text = json.dumps(params["inputResponses"]["who"]["content"])
    task.update(status="completed", result={"content": [{"type": "text", "text": text}]})
    say(id=id, result={"resultType": "complete"})


def cancel_task(id, _):
    task.update(status="cancelled")
    say(id=id, result={"resultType": "complete"})


def go_on(id, running, answers):
    """Let a tool work until its next question, or to its end."""
    try:
        questions = running.send(answers)
    except StopIteration as end:
        text = json.dumps(end.value)
        say(id=id, result={"content": [{"type": "text", "text": text}], "structuredContent": end.value})
    except Refusal as refusal:
        say(id=id, error=refusal.error)
    else:
        (ask_in_rounds if ERA == "modern" else ask_by_requests)(id, running, questions)


def ask_by_requests(id, running, questions):
    if not questions:
        go_on(id, running, {})
        return
    asked = {f"q{next(numbers)}": key for key in questions}
    waits = {"id": id, "running": running, "asked": asked, "answers": {}}
    for question, key in asked.items():
        waiting[question] = waits
        say(id=question, **questions[key])


def answered(message):
    waits = waiting.pop(message["id"], None)
    if waits is None:
        return
    waits["answers"][waits["asked"][message["id"]]] = message.get("result", {"error": message.get("error")})
    if len(waits["answers"]) == len(waits["asked"]):
        go_on(waits["id"], waits["running"], waits["answers"])


def ask_in_rounds(id, running, questions):
    state = f"state {next(numbers)}"
    waiting[state] = (running, questions)
    asked = {"inputRequests": questions} if questions else {}
    say(id=id, result={"resultType": "input_required", "requestState": state, **asked})


def call(id, params):
    state, answers = params.get("requestState"), params.get("inputResponses") or {}
    if ERA == "modern":
        note_capabilities(params["_meta"][CAPABILITIES])
    if params["name"] == "work":
        work(id)
    elif state is None:
        go_on(id, TOOLS[params["name"]](params.get("arguments") or {}), None)
    elif state not in waiting:
        say(id=id, error={"code": -32602, "message": "unknown state"})
    else:
        running, questions = waiting.pop(state)
        missing = {key: questions[key] for key in questions if key not in answers}
        if missing:
            ask_in_rounds(id, running, questions)
        else:
            go_on(id, running, answers)


def note_capabilities(given):
    declared.clear()
    declared.update(given)


def initialize(id, params):
    note_capabilities(params["capabilities"])
    result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": INFO}
    say(id=id, result=result)


def discover(id, _):
    meta = {"io.modelcontextprotocol/serverInfo": INFO}
    result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"}
    say(id=id, result={**result, "ttlMs": 0, "cacheScope": "public", "_meta": meta})


METHODS = {
    "tools/list": lambda id, _: say(id=id, result={"tools": DEFINITIONS}),
    "tools/call": call,
    "tasks/get": look_at_task,
    "tasks/update": update_task,
    "tasks/cancel": cancel_task,
    **({"server/discover": discover} if ERA == "modern" else {"initialize": initialize}),
}

for line in sys.stdin:
    if LOG:
        with open(LOG, "a", encoding="utf-8") as log:
            log.write(line)
    message = json.loads(line)
    if "method" not in message:
        answered(message)
    elif "id" in message:
        handle = METHODS.get(message["method"])
        if handle is None:
            say(id=message["id"], error={"code": -32601, "message": "Method not found"})
        else:
            handle(message["id"], message.get("params") or {})

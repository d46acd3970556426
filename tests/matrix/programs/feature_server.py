"""A server of the official SDK with one tool for each feature of the protocol, on stdio or over HTTP.

python feature_server.py ERA [PORT]; a server of the old era knows nothing of the newest revision. Without a port it
serves its own pipes.
"""

import sys
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio
import mcp_types as types
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import Prompt
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.responses import JSONResponse

ERA, PORT = (*sys.argv[1:], "")[:2]
TASKS = "io.modelcontextprotocol/tasks"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SCHEME = f"notes-{ERA}"
README = f"{SCHEME}://readme"
ANSWERS = {
    types.ElicitRequest: types.ElicitResult,
    types.CreateMessageRequest: types.CreateMessageResult,
    types.ListRootsRequest: types.ListRootsResult,
}
Asked = types.InputRequiredResult

server = MCPServer("features", version="1")
cancelled = []


def is_old(ctx: Context) -> bool:
    return ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS


async def answer(ctx: Context, request, key="question", **more):
    """The client's answer to a question; in the newest revision, before there is one, the interim result that asks."""
    if is_old(ctx):
        metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
        return await ctx.session.send_request(request, ANSWERS[type(request)], metadata=metadata)
    given = (ctx.input_responses or {}).get(key)
    return Asked(input_requests={key: request}, **more) if given is None else given


def form(message):
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


@server.tool()
def echo(text: str, ctx: Context) -> str:
    return f"{text} in {'the old era' if is_old(ctx) else 'the new era'}"


@server.tool()
async def steps(ctx: Context) -> str:
    for step in range(1, 6):
        await ctx.report_progress(step, 5, f"step {step}")
    return "walked"


@server.tool()
async def gossip(ctx: Context) -> str:
    await ctx.debug("too quiet")
    await ctx.info("heard")
    await ctx.error("heard well")
    return "said"


@server.tool()
async def wait(token: str, ctx: Context) -> str:
    await ctx.report_progress(1, 2, "waiting")
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        cancelled.append(token)
        raise
    return "never"


@server.tool()
def was_cancelled(token: str) -> str:
    return "yes" if token in cancelled else "no"


@server.tool()
async def name(ctx: Context) -> str | Asked:
    given = await answer(ctx, form("What is your name?"))
    return given if isinstance(given, Asked) else f"hello {given.content['name']}"


@server.tool()
async def visit(ctx: Context) -> str | Asked:
    params = types.ElicitRequestURLParams(message="Sign in", url="https://example.com/x", elicitation_id="e-1")
    given = await answer(ctx, types.ElicitRequest(params=params))
    return given if isinstance(given, Asked) else f"the person said {given.action}"


@server.tool()
async def think(ctx: Context) -> str | Asked:
    said = types.SamplingMessage(role="user", content=types.TextContent(text="Think."))
    params = types.CreateMessageRequestParams(messages=[said], max_tokens=10)
    given = await answer(ctx, types.CreateMessageRequest(params=params))
    return given if isinstance(given, Asked) else f"thought: {given.content.text}"


@server.tool()
async def folders(ctx: Context) -> str | Asked:
    given = await answer(ctx, types.ListRootsRequest())
    return given if isinstance(given, Asked) else " ".join(str(root.uri) for root in given.roots)


@server.tool()
async def twice(ctx: Context) -> str | Asked:
    if ctx.request_state is None:
        return await answer(ctx, form("What is your name?"), "first", request_state="after the first")
    second = await answer(ctx, form("And your friend's?"), "second", request_state="after the second")
    return second if isinstance(second, Asked) else f"{ctx.request_state}: {second.content['name']}"


@server.tool()
async def later(ctx: Context) -> str | Asked:
    polls = int(ctx.request_state or 0)
    return Asked(request_state=str(polls + 1)) if polls < 3 else f"after {polls} polls"


@server.tool()
def blocks() -> types.CallToolResult:
    notes = types.Annotations(audience=["user"], priority=0.5)
    text = types.TextResourceContents(uri=README, mime_type="text/plain", text="read me")
    content = [
        types.TextContent(text="a text", annotations=notes),
        types.ImageContent(data=PIXEL, mime_type="image/png"),
        types.AudioContent(data="UklGRg==", mime_type="audio/wav"),
        types.EmbeddedResource(resource=text),
        types.ResourceLink(uri=README, name="readme"),
    ]
    return types.CallToolResult(content=content, structured_content={"answer": [1, None, {"deep": "é"}]})


@server.tool()
def meta(ctx: Context) -> types.CallToolResult:
    seen = (ctx.request_context.meta or {}).get("com.example/given")
    said = types.TextContent(text="see my meta")
    return types.CallToolResult(content=[said], _meta={"com.example/seen": seen})


@server.tool()
async def grow(tool: str, ctx: Context) -> str:
    server.add_tool(lambda: "grown", name=tool, description="A tool that was not there before")
    await (ctx.session.send_tool_list_changed() if is_old(ctx) else ctx.notify_tools_changed())
    return "grew"


@server.tool()
async def write_prompt(prompt: str, ctx: Context) -> str:
    server.add_prompt(Prompt.from_function(lambda: "new words", name=prompt, description="A new prompt"))
    await (ctx.session.send_prompt_list_changed() if is_old(ctx) else ctx.notify_prompts_changed())
    return "wrote"


@server.tool()
async def touch(ctx: Context) -> str:
    await (ctx.session.send_resource_updated(README) if is_old(ctx) else ctx.notify_resource_updated(README))
    return "touched"


@server.tool()
def job() -> str:
    """Runs as a task only: see `tasks`."""
    return "unreachable"


@server.resource(README, name="readme", mime_type="text/plain")
def readme() -> str:
    return "read me"


@server.resource(SCHEME + "://note/{number}", name="note", mime_type="text/plain")
def note(number: str) -> str:
    return f"note {number}"


@server.prompt()
def review(language: str) -> str:
    return f"Review this {language} code"


@server.completion()
async def complete(ref, argument, context):
    return types.Completion(values=[word for word in ("python", "perl") if word.startswith(argument.value)])


async def subscribed(_, __):
    return types.EmptyResult()


lowlevel = server._lowlevel_server
lowlevel.add_request_handler("resources/subscribe", types.SubscribeRequestParams, subscribed)
lowlevel.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, subscribed)
lowlevel.add_request_handler("logging/setLevel", types.SetLevelRequestParams, subscribed)


async def tasks(ctx, call_next):
    """The extension for tasks, of which the SDK has nothing: one job, which is done when it is asked for."""
    params, now = ctx.params or {}, datetime.now(UTC).isoformat()
    task = {"taskId": "job-1", "createdAt": now, "lastUpdatedAt": now, "ttlMs": 60_000, "pollIntervalMs": 50}
    if ctx.method == "tasks/get":
        done = {"content": [{"type": "text", "text": "the job is done"}], "isError": False}
        return {**task, "resultType": "complete", "status": "completed", "result": done}
    if ctx.method != "tools/call" or params.get("name") != "job":
        return await call_next(ctx)
    declared = (params.get("_meta") or {}).get("io.modelcontextprotocol/clientCapabilities") or {}
    if TASKS not in (declared.get("extensions") or {}):
        raise MCPError(-32021, "this runs as a task only", {"requiredCapabilities": {"extensions": {TASKS: {}}}})
    return {**task, "resultType": "task", "status": "working"}


server.middleware.append(tasks)


@asynccontextmanager
async def of_this_era(read, write):
    """In the old era a question of the newest revision is refused, as servers do that do not know it."""
    if ERA == "new":
        yield read
        return
    send, receive = anyio.create_memory_object_stream(0)

    async def pump():
        async with send:
            async for item in read:
                message = item.message if isinstance(item, SessionMessage) else None
                if getattr(message, "method", "") == "server/discover":
                    error = types.ErrorData(code=-32601, message="Method not found")
                    refusal = types.JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
                    await write.send(SessionMessage(refusal))
                else:
                    await send.send(item)

    async with anyio.create_task_group() as group:
        group.start_soon(pump)
        yield receive
        group.cancel_scope.cancel()


async def serve_pipes():
    async with stdio_server() as (read, write), of_this_era(read, write) as heard:
        await lowlevel.run(heard, write, lowlevel.create_initialization_options())


class OfThisEra:
    """The same over HTTP."""

    def __init__(self, app):
        self._app = app

    async def __call__(self, scope, receive, send):
        version = dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"").decode()
        if ERA == "old" and version in MODERN_PROTOCOL_VERSIONS:
            error = {"code": -32000, "message": "Bad Request: Unsupported protocol version"}
            await JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


if PORT:
    uvicorn.run(OfThisEra(server.streamable_http_app()), port=int(PORT), log_level="critical", ws="none")
else:
    anyio.run(serve_pipes)

"""The gateway: one short method for each of the five meta-tools, used by every face."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from toolcrib.built_in.redirect import Meant, meant
from toolcrib.built_in.result_store import ResultStore
from toolcrib.calls.asking_programs import Ask, ProgramConversation
from toolcrib.calls.chain import CallTool
from toolcrib.calls.heard_audit import Hear
from toolcrib.calls.introspect import Introspector
from toolcrib.calls.server_items import ItemConnections, ServerItems
from toolcrib.config.settings import Settings
from toolcrib.discovery.refresher import CatalogRefresher
from toolcrib.errors import InvalidArguments, Problem, ToolcribError
from toolcrib.limits.room import Room
from toolcrib.model.advice import no_servers
from toolcrib.model.call import CallEvent, ExecutionError, ExecutionResult, Listener, ToolCall, ToolResult
from toolcrib.model.caller import LIBRARY, Caller, Rights
from toolcrib.model.finding import Finding
from toolcrib.model.items import ItemKind
from toolcrib.model.server import BUILT_IN_SERVER, ServerSpec
from toolcrib.model.status import ServerStatus
from toolcrib.model.tool import split_id
from toolcrib.model.view import SearchAnswer, SearchHit, ServerSummary, ToolDetails, ToolSummary
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.queries.budget import NEIGHBOURS, WEAK_HIT, fits, pack_hits, search_note
from toolcrib.queries.search import Search, SearchQuestion, found_tools, hits_of, understood
from toolcrib.queries.summaries import known_topics_of, near_domains, server_view, tool_view
from toolcrib.workspace.lookup import missing
from toolcrib.workspace.workspace import Workspace

if TYPE_CHECKING:  # only the name of a type: most gateways never use the service, and much comes with it
    from toolcrib.discovery.service import MCPDiscoveryService

# The very first start knows no tool at all: a short wait for the first reading beats an empty answer.
FIRST_READING_SECONDS = 3.0


class Connections(ItemConnections, Protocol):
    """Whoever holds the connections to servers, and knows the state of each."""

    def status(self, spec: ServerSpec) -> ServerStatus: ...

    async def connect(self, spec: ServerSpec) -> None: ...

    async def disconnect(self, spec: ServerSpec) -> None: ...

    async def roots_changed(self, session: str) -> None: ...


class Figures(Protocol):
    """What can be counted while calls run."""

    def running_calls(self) -> int: ...

    def servers_by_state(self) -> Mapping[str, int]: ...

    def heard_by(self, hear: Hear) -> AbstractContextManager[None]:
        """Tell somebody of every call that ends while the block lasts."""


class RegistryHints(Protocol):
    """Whoever knows servers that are not installed; answers at once and asks no network."""

    def names(self, query: str) -> Sequence[str]: ...


class Gateway:
    """Answers callers' questions about one workspace: find a tool, read it, run it; safe to use from many tasks at once."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        refresher: CatalogRefresher,
        open_service: Callable[[], MCPDiscoveryService],
        connections: Connections,
        items: ServerItems,
        call_tool: CallTool,
        ask_about_task: CallTool,
        introspector: Introspector,
        results: ResultStore,
        reload: Callable[[], Awaitable[Settings]],
        learn: Callable[[float], Awaitable[bool]],
        state_key: Callable[[], bytes],
        parked: Room,
        figures: Figures,
        hints: RegistryHints | None = None,
    ) -> None:
        self._workspace = workspace
        self._view = workspace.view
        self._refresher = refresher
        self._open_service = open_service
        self._service: MCPDiscoveryService | None = None
        self._connections = connections
        self._items = items
        self._call_tool = call_tool
        self._ask_about_task = ask_about_task
        self._introspector = introspector
        self._results = results
        self._reload = reload
        self._learn = learn
        self._hints = hints
        # Seals what clients are given to bring back.
        self.state_key = state_key
        # For calls of all clients that wait for answers.
        self.parked = parked
        # For those who watch.
        self.figures = figures

    @property
    def workspace(self) -> Workspace:
        """The configuration that it answers about, and what is known of its servers."""
        return self._workspace

    @property
    def settings(self) -> Settings:
        """The configuration in force."""
        return self._workspace.settings

    def rights(self, profile: str = "") -> Rights:
        """What a client with this profile may use, under the configuration in force."""
        return self._workspace.profiles.of(profile)

    @property
    def discovery_service(self) -> MCPDiscoveryService:
        """Reads any server and looks into the registries; put together with its first use."""
        if self._service is None:
            self._service = self._open_service()
        return self._service

    async def reload(self) -> Settings:
        """Read the configuration again; only what changed reconnects, and a bad edit changes nothing."""
        return await self._reload()

    async def ready(self, seconds: float) -> bool:
        """Wait until the tools of every server are known and search knows what they mean, at most `seconds`.

        False where time ran out, or a server could not be read: `list_servers` says which and why.
        """
        started = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(seconds):
                await self._refresher.need_all(self._view.specs)
        except TimeoutError:
            return False
        left = seconds - (asyncio.get_running_loop().time() - started)
        has_learnt = await self._learn(max(0.0, left))
        return has_learnt and all(map(self._view.was_read, self._view.specs))

    async def learn_tools(self, seconds: float) -> bool:
        """Wait until search knows what every tool means, but no longer than `seconds`; whether it does.

        Without waiting it comes to that in the background; until then new tools are found by their words.
        """
        return await self._learn(seconds)

    async def list_servers(self, *, caller: Caller = LIBRARY) -> list[ServerSummary]:
        """The servers that a caller may use, in the order of the configuration."""
        return [
            server_view(self._view, name, self._connections.status(spec), caller)
            for name, spec in self._view.servers(caller).items()
        ]

    async def connect(self, server: str) -> None:
        """Start or reach a server now rather than on its first call; raises what kept us from it."""
        if (spec := self._configured(server)) is not None:
            await self._connections.connect(spec)

    async def disconnect(self, server: str) -> None:
        """Stop a server, and break off the calls that run on it; the next call starts it again."""
        if (spec := self._configured(server)) is not None:
            await self._connections.disconnect(spec)

    async def roots_changed(self, session: str) -> None:
        """Tell servers that run for this session alone that the folders of its client are others by now."""
        await self._connections.roots_changed(session)

    def is_connected(self, server: str) -> bool:
        """Whether this gateway is connected to a server now; the usual state of one that nobody calls is that it is not."""
        spec = self._view.specs.get(server)
        if spec is None:
            return server == BUILT_IN_SERVER
        return self._connections.status(spec).state == "connected"

    async def invalidate(self, server: str | None = None) -> None:
        """Have one server, or every one, read again before its tools are next looked at or run.

        A search over all servers answers from what is known until then; `ready` has them all read.
        """
        specs = list(self._view.specs.values()) if server is None else [self._configured(server)]
        for spec in specs:
            if spec is not None:
                self._refresher.expire(spec)
                await asyncio.to_thread(self.discovery_service.cache.clear_server, spec.name)

    async def search_tools(
        self,
        query: str,
        *,
        server: str | None = None,
        limit: int | None = None,
        include_disabled: bool = False,
        domain: str | None = None,
        category: str | None = None,
        caller: Caller = LIBRARY,
    ) -> SearchAnswer:
        """The tools that fit `query` best. Without `limit`, as many as fit a small answer.

        `domain` (such as `github.issues`) and `category` (such as `crud.read`) narrow the search; `domain:…` and
        `category:…` in the query do the same. Where the query is nothing else, all such tools are given.
        """
        question = SearchQuestion(query, server, limit, include_disabled, domain, category)
        search = understood(self._workspace, question)
        await self._make_searchable(server, caller)
        hits = hits_of(found_tools(self._workspace, search, caller))
        note = self._search_note(hits, search, caller)
        packed = tuple(hits) if limit is not None else pack_hits(hits, note)
        return SearchAnswer(packed, note) if fits(hits) else SearchAnswer((), note, nearest=packed)

    async def list_tools(
        self, server: str, *, include_disabled: bool = False, caller: Caller = LIBRARY
    ) -> list[ToolSummary]:
        """The tools of one server; an unknown server has none."""
        await self._need(server, caller)
        return self._listed([server], caller, include_disabled=include_disabled)

    async def all_tools(self, *, include_disabled: bool = False, caller: Caller = LIBRARY) -> list[ToolSummary]:
        """The tools of all servers that are known now, server by server; `ready` waits for those that are not."""
        return self._listed(self._view.servers(caller), caller, include_disabled=include_disabled)

    async def get_tool_details(self, server: str, tool: str, *, caller: Caller = LIBRARY) -> ToolDetails | None:
        """How to call a tool, or None where there is no such tool.

        Raises where a person has to look at it first, or the caller has no right to it.
        """
        visible = await self._find(*split_id(server, tool), caller)
        if visible is None:
            return None
        if visible.availability.hides_words or not visible.availability.is_there:
            raise missing(self._view, *split_id(server, tool), caller)
        learnt = await asyncio.to_thread(self._view.known_shape, visible) if self.settings.learn_shapes else None
        # Loaded only now: the language of types comes with it, and most questions are about calls and searches.
        details: ToolDetails = import_module("toolcrib.queries.describe").details_view(visible, learnt)
        return details

    def findings(self, server: str) -> list[tuple[str, Finding]]:
        """What is odd or hostile in what a server offers, as far as it was read: names of tools and items, each with a finding."""
        return self._view.findings(server)

    async def introspect_output(self, server: str, tool: str) -> Mapping[str, Any] | None:
        """What a tool returns, as a JSON Schema: declared, learnt, or found out by a harmless call; None where it can't be told.

        Only a tool that changes nothing is called, once, or a second time where the first arguments taught nothing.
        """
        visible = await self._find(*split_id(server, tool), LIBRARY)
        return (
            None if visible is None or visible.tool.kind != "tool" else await self._introspector.output_schema(visible)
        )

    async def first_reading(self) -> None:
        """Wait a little for the first tools, where none at all are known yet; on any other day this takes no time."""
        if self._refresher.pending(self._view.specs) and not self._view.tool_count():
            await self._refresher.settle(FIRST_READING_SECONDS, lambda: bool(self._view.tool_count()))

    async def list_items(
        self, *kinds: ItemKind, server: str | None = None, caller: Caller = LIBRARY
    ) -> list[ToolSummary]:
        """What one server, or every server that is known now, offers of these kinds: prompt, resource, template."""
        await self._make_searchable(server, caller)
        servers = self._view.servers(caller) if server is None else [server]
        items = (visible for name in servers for visible in self._view.items(name, caller).values())
        return [tool_view(visible) for visible in items if visible.enabled and visible.tool.kind in kinds]

    async def complete(
        self,
        server: str,
        name: str,
        argument: str,
        value: str,
        *,
        context: Mapping[str, Any] | None = None,
        caller: Caller = LIBRARY,
    ) -> Mapping[str, Any]:
        """Values that an argument of a prompt, or a variable of a template, may have; none where the server says nothing.

        Raises where there is no such item, it may not be used, or the server refuses.
        """
        await self._need(server, caller)
        return await self._items.complete(server, name, argument, value, context, caller)

    async def subscribe(
        self,
        server: str,
        uri: str,
        hear: Callable[[str], None],
        *,
        caller: Caller = LIBRARY,
        caller_now: Callable[[], Caller] | None = None,
    ) -> Callable[[], Awaitable[None]]:
        """Call `hear` with the address whenever a server says that the resource has changed; gives what ends that.

        Raises where there is no such resource, it may not be read, or the server does not tell. `caller_now` is the caller as
        it is when the server says so: its rights may be others by then.
        """
        await self._need(server, caller)
        return await self._items.subscribe(server, uri, hear, caller, caller_now or (lambda: caller))

    def topics(self, servers: Iterable[str], most: int, *, caller: Caller = LIBRARY) -> list[str]:
        """What the tools of some servers are about that a caller may use, in a few plain words, the most frequent first."""
        return known_topics_of(self._view, servers, most, caller)

    async def execute_tool(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        caller: Caller = LIBRARY,
        listener: Listener | None = None,
        ask: Ask | None = None,
        capabilities: Mapping[str, Any] = MappingProxyType({}),
        confirmed: bool = False,
    ) -> ExecutionResult:
        """Run a tool; whatever goes wrong on the way is in the result, with a code.

        `ask` answers what the server asks meanwhile, as far as `capabilities` (those of an MCP client) say that it can. Where
        the setting `confirm` wants a person to agree first, it is asked that too, unless the person has `confirmed` already.
        """
        server, tool = split_id(server, tool)
        try:
            raw = msgspec.json.encode(arguments or {})
            # What is checked is what is sent: keys that are numbers, dates and the like become text.
            given = msgspec.json.decode(raw, type=dict[str, Any])
        except (TypeError, ValueError, RecursionError) as problem:
            unfit = InvalidArguments([Problem("arguments", f"not a JSON object: {problem}")])
            return ExecutionResult(error=ExecutionError.of(unfit, server, tool))
        call = ToolCall(
            server,
            tool,
            given,
            raw,
            caller,
            listener,
            "info",
            wants_progress=listener is not None,
            is_confirmed=confirmed,
        )
        if ask is not None:
            call = call.but(conversation=ProgramConversation(ask, capabilities))
        return await self.execute(call)

    def meant(self, server: str, tool: str, arguments: Mapping[str, Any], caller: Caller = LIBRARY) -> Meant | None:
        """The item of a server that a call of the built-in server means, if it does."""
        return meant(self._view, server, tool, arguments, caller)

    async def run_meant(self, call: ToolCall) -> ToolResult:
        """Run what a built-in tool means, whose arguments had to be put right first; raises what kept us from it."""
        found = self.meant(call.server, call.tool, call.arguments, call.caller)
        if found is None:
            raise InvalidArguments([Problem("arguments", "must name a server and what to get of it")])
        return await self._call_tool(_instead(call, found))

    async def execute(self, call: ToolCall) -> ExecutionResult:
        """Run a call that a face has prepared."""
        found = self.meant(call.server, call.tool, call.arguments, call.caller)
        try:
            result = await self._call_tool(call if found is None else _instead(call, found))
        except ToolcribError as error:
            return ExecutionResult(error=ExecutionError.of(error, call.server, call.tool))
        if result.is_error:
            return ExecutionResult(result, _said_failed(result, call))
        return ExecutionResult(result)

    async def execute_task(self, call: ToolCall) -> ExecutionResult:
        """Pass a request about a task on to the server that works on it."""
        try:
            return ExecutionResult(await self._ask_about_task(call))
        except ToolcribError as error:
            return ExecutionResult(error=ExecutionError.of(error, call.server, call.tool))

    async def execute_stream(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        caller: Caller = LIBRARY,
        ask: Ask | None = None,
        capabilities: Mapping[str, Any] = MappingProxyType({}),
        confirmed: bool = False,
    ) -> AsyncIterator[CallEvent | ExecutionResult]:
        """Run a tool and yield progress and log messages as they come, then the outcome; the rest as in `execute_tool`."""
        events: asyncio.Queue[CallEvent | None] = asyncio.Queue()
        hear = events.put_nowait
        running = asyncio.create_task(
            self.execute_tool(
                server,
                tool,
                arguments,
                caller=caller,
                listener=hear,
                ask=ask,
                capabilities=capabilities,
                confirmed=confirmed,
            )
        )
        running.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            yield running.result()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def read_server(self, server: str) -> None:
        """Read a server's tools now, whatever is known of it; raises what kept us from it."""
        if (spec := self._view.specs.get(server)) is not None:
            await self._refresher.read_now(spec)

    async def give_up_reading(self, server: str, seconds: float) -> bool:
        """Stop reading a server that was waited for so long; whether the catalog remembers that from now on."""
        spec = self._view.specs.get(server)
        return spec is not None and await self._refresher.give_up(spec, seconds)

    def failure(self, server: str) -> ToolcribError | None:
        """What kept this gateway from reading a server, the last time it tried."""
        spec = self._view.specs.get(server)
        return None if spec is None else self._refresher.failure(spec)

    def knows(self, server: str, *, caller: Caller = LIBRARY) -> bool:
        """Whether a server of that name is offered to a caller."""
        return self._view.knows(server, caller)

    def missing(self, server: str, tool: str, *, caller: Caller = LIBRARY) -> ToolcribError:
        """Why a lookup found nothing: the server can't be read, or the names that may have been meant."""
        server, tool = split_id(server, tool)
        return self._unread_failure(server, caller) or missing(self._view, server, tool, caller)

    def trouble(self, server: str, *, caller: Caller = LIBRARY) -> str:
        """Why the tools of a server are not known, or nothing."""
        failure = self._unread_failure(server, caller)
        return f"Its tools could not be read: {failure.message}" if failure is not None else ""

    def launch_key(self, server: str) -> str:
        """What tells the server of that name from any other that may have the name later; empty where there is none."""
        spec = self._view.specs.get(server)
        return "" if spec is None else spec.launch_key

    def keep_result(self, caller: Caller, data: bytes) -> str:
        """Keep a large result; the handle is good for this caller only."""
        return self._results.put(caller.key, data)

    def _configured(self, server: str) -> ServerSpec | None:
        """The entry of a server; None is the built-in one, and an unknown name is an error."""
        if not self._view.knows(server):
            raise missing(self._view, server, "")
        return self._view.specs.get(server)

    def _unread_failure(self, server: str, caller: Caller) -> ToolcribError | None:
        spec = self._view.spec_for(server, caller)
        return None if spec is None else self._refresher.unread_failure(spec)

    def _listed(self, servers: Iterable[str], caller: Caller, *, include_disabled: bool) -> list[ToolSummary]:
        tools = (visible for name in servers for visible in self._view.tools(name, caller).values())
        return [tool_view(visible) for visible in tools if visible.enabled or include_disabled]

    async def _need(self, server: str, caller: Caller) -> None:
        if (spec := self._view.spec_for(server, caller)) is not None:
            await self._refresher.need(spec)

    async def _make_searchable(self, server: str | None, caller: Caller) -> None:
        """Have the one server read that is asked about; where no tool at all is known, wait a little for the first."""
        await (self.first_reading() if server is None else self._need(server, caller))

    def _elsewhere(self, search: Search, hits: Sequence[SearchHit]) -> Sequence[str]:
        is_weak = all(hit.relevance < WEAK_HIT for hit in hits)
        if self._hints is None or not is_weak or search.server is not None or not search.words:
            return ()
        return self._hints.names(search.words)

    def _search_note(self, hits: Sequence[SearchHit], search: Search, caller: Caller) -> str:
        server, is_found, offered = search.server, fits(hits), self._view.servers(caller)
        return search_note(
            found=is_found,
            pending=self._refresher.pending(offered),
            server=server,
            enabled=self.settings.enabled,
            none_at_all="" if offered else no_servers(caller.rights),
            near=near_domains(hits[:NEIGHBOURS]) if server is None and not is_found else (),
            unread=[name for name in self._view.unread() if name in offered and server in (None, name)],
            elsewhere=self._elsewhere(search, hits),
        )

    async def _find(self, server: str, tool: str, caller: Caller) -> VisibleTool | None:
        await self._need(server, caller)
        return self._view.find(server, tool, caller)


def _instead(call: ToolCall, found: Meant) -> ToolCall:
    raw = msgspec.json.encode(found.arguments)
    return call.but(server=found.server, tool=found.tool, arguments=found.arguments, raw_arguments=raw, target=None)


def _said_failed(result: ToolResult, call: ToolCall) -> ExecutionError:
    told = result.text or (result.structured_json or b"").decode()
    message = told or "the tool reported a failure without a message"
    return ExecutionError("TOOL_EXECUTION_ERROR", message, call.server, call.tool)

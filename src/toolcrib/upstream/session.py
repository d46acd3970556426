"""One negotiated connection to a server: read its tools, call them."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from toolcrib.errors import (
    CallTimeout,
    ServerConnectionError,
    SessionInitFailed,
    ToolExecutionError,
    ToolsListFailed,
)
from toolcrib.model.advice import OUTCOME_UNKNOWN
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.items import request_of
from toolcrib.model.reading import ITEM_LISTS, Identity, ListKind, ServerListing, ServerReading
from toolcrib.upstream.call_clock import CallClock
from toolcrib.upstream.envelopes import RequestEnvelope
from toolcrib.upstream.inbox import Inbox
from toolcrib.upstream.link import Link
from toolcrib.upstream.list_page import UnreadableList
from toolcrib.upstream.negotiate import Negotiation
from toolcrib.upstream.session_tasks import SessionTasks
from toolcrib.upstream.tool_list import ListedItems, ListLimits, list_all
from toolcrib.wire.jsonrpc import Json, RpcError
from toolcrib.wire.mirrored_headers import annotation_problem
from toolcrib.wire.protocol import ROOTS_CHANGED, URL_ELICITATION_REQUIRED

log = logging.getLogger(__name__)

SET_LEVEL_SECONDS = 1.0
LONGEST_CALL_SECONDS = 3600.0
# What is left for the other lists where the tools took nearly all of the time; and how long those may keep the tools waiting.
LEAST_LIST_SECONDS = 1.0
MOST_LIST_SECONDS = 10.0
_LIST_CHANGES = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}
_LIST_METHODS: Mapping[ListKind, str] = {"templates": "resources/templates/list"}


class Session:
    """Speaks MCP over a link in the era that was found; nothing of a result is decoded."""

    def __init__(
        self,
        server: str,
        link: Link,
        inbox: Inbox,
        identity: Identity,
        envelope: RequestEnvelope,
        ids: Callable[[], int],
    ):
        self._server = server
        self.link = link
        self._inbox = inbox
        self.identity = identity
        self._envelope = envelope
        self._next_id = ids
        self._log_level: str | None = None
        self._tasks = SessionTasks(server, link, inbox, envelope, ids)

    @classmethod
    async def start(
        cls,
        server: str,
        link: Link,
        inbox: Inbox,
        *,
        known: Identity | None,
        probe_seconds: float,
        client_info: Mapping[str, str],
    ) -> Session:
        next_id = itertools.count(1).__next__
        try:
            identity = await Negotiation(server, link, next_id, client_info).run(known, probe_seconds)
        except RpcError as refusal:
            raise SessionInitFailed(
                f"the handshake was refused: {refusal.message}", server=server, rpc_code=refusal.code, data=refusal.data
            ) from refusal
        envelope = RequestEnvelope(identity.era, identity.protocol_version, client_info)
        return cls(server, link, inbox, identity, envelope, next_id)

    async def read(self, limits: ListLimits, timeout_seconds: float) -> ServerReading:
        """The server's identity and its whole tool list; with it, as far as they can be had in time, its other items."""
        until = asyncio.get_running_loop().time() + timeout_seconds
        listed = await self._listed("tools", limits, timeout_seconds)
        others = await asyncio.gather(*(self._others(kind, limits, until) for kind in self._item_lists(limits)))
        return ServerReading(
            self.identity,
            tuple(listed.definitions),
            listed.ttl_seconds,
            tuple(warning for one in (listed, *others) for warning in one.warnings),
            tuple((ITEM_LISTS[one.kind], definition) for one in others for definition in one.definitions),
            tuple(ITEM_LISTS[one.kind] for one in others if one.has_failed),
        )

    def _item_lists(self, limits: ListLimits) -> list[ListKind]:
        """What the server says that it has besides tools."""
        declared = self.identity.capabilities if limits.items else {}
        kinds: list[ListKind] = ["prompts"] if "prompts" in declared else []
        return [*kinds, "resources", "templates"] if "resources" in declared else kinds

    async def _others(self, kind: ListKind, limits: ListLimits, until: float) -> ListedItems:
        """One list besides the tools; a server that fails in this still has its tools."""
        left = min(MOST_LIST_SECONDS, max(LEAST_LIST_SECONDS, until - asyncio.get_running_loop().time()))
        try:
            return await self._listed(kind, replace(limits, tools=limits.items), left)
        except (ToolsListFailed, CallTimeout) as failure:
            return ListedItems(kind, warnings=[f"its {kind} could not be listed: {failure.message}"], has_failed=True)

    async def list_items(self, kind: ListKind, limits: ListLimits, timeout_seconds: float) -> ServerListing:
        """Everything of one kind that the server has."""
        listed = await self._listed(kind, limits, timeout_seconds)
        return ServerListing(self.identity, tuple(listed.definitions), tuple(listed.warnings))

    async def _listed(self, kind: ListKind, limits: ListLimits, timeout_seconds: float) -> ListedItems:
        method = _LIST_METHODS.get(kind, f"{kind}/list")

        async def fetch_page(params: Mapping[str, object]) -> Json:
            return await self._request(method, params)

        try:
            async with asyncio.timeout(timeout_seconds):
                return self._usable(await list_all(fetch_page, limits, kind))
        except TimeoutError:
            raise CallTimeout(f"{method} took longer than {timeout_seconds:g} s", server=self._server) from None
        except UnreadableList as problem:
            raise ToolsListFailed(
                str(problem), server=self._server, hint="Report this to the server's author, or raise maxToolListBytes."
            ) from None
        except RpcError as error:
            raise ToolsListFailed(
                f"{method} failed: {error.message}", server=self._server, rpc_code=error.code, data=error.data
            ) from error

    def _usable(self, listed: ListedItems) -> ListedItems:
        """In the modern era a tool whose arguments can't be repeated as headers the way it asks must not be offered."""
        if self.identity.era == "modern" and listed.kind == "tools":
            problems = [(entry, annotation_problem(entry.get("inputSchema"))) for entry in listed.definitions]
            listed.definitions = [entry for entry, problem in problems if not problem]
            listed.warnings += [f"{entry['name']!r} is left out: {problem}" for entry, problem in problems if problem]
        return listed

    async def call(
        self, call: ToolCall, timeout_seconds: float, longest_seconds: float = LONGEST_CALL_SECONDS
    ) -> ToolResult:
        """Run a tool; a call that takes too long is cancelled on the server.

        Progress that it reports starts the time anew, within `longest_seconds` in all.
        """
        name = call.target.upstream_name if call.target is not None else call.tool
        kind = call.target.tool.kind if call.target is not None else "tool"
        method, members = request_of(kind, name, call.raw_arguments)
        request_id = self._next_id()
        params = self._envelope.call_params(call, members, request_id)
        clock: CallClock | None = None
        try:
            if call.task is not None:
                return await self._tasks.told(call, call.task, timeout_seconds)
            async with asyncio.timeout(None) as patience:
                clock = CallClock(patience, timeout_seconds, longest_seconds)
                with self._inbox.listening(request_id, call, clock) as running:
                    await self._ask_for_logs()
                    clock.renew()
                    result = ToolResult(
                        await self.link.request(
                            request_id, method, params, self._envelope.call_headers(call, method, name)
                        )
                    )
                    if (task := self._tasks.begun(result, call)) is not None:
                        return await self._tasks.awaited(task, call, running, clock)
        except TimeoutError:
            raise self._too_late(timeout_seconds, longest_seconds, clock) from None
        except RpcError as error:
            if error.code == URL_ELICITATION_REQUIRED:
                self._inbox.pages.note_error(error.data, call.conversation)
            raise ToolExecutionError(
                error.message, server=self._server, rpc_code=error.code, data=error.data
            ) from error
        return result

    def _too_late(self, timeout_seconds: float, longest_seconds: float, clock: CallClock | None) -> CallTimeout:
        if clock is None or not clock.is_used_up or longest_seconds <= timeout_seconds:
            message = f"no answer within {timeout_seconds:g} s; the call was cancelled"
            return CallTimeout(message, server=self._server, hint=OUTCOME_UNKNOWN)
        message = (
            f"still no answer after {longest_seconds:g} s, though the server reported progress; the call was cancelled"
        )
        hint = f"{OUTCOME_UNKNOWN} If the tool may take longer, raise maxCallTime."
        return CallTimeout(message, server=self._server, hint=hint)

    async def ask(self, method: str, params: Mapping[str, object], timeout_seconds: float) -> bytes:
        """What the server answers to a request that is neither a call nor a list."""
        try:
            async with asyncio.timeout(timeout_seconds):
                return bytes(await self._request(method, params))
        except TimeoutError:
            raise CallTimeout(f"no answer within {timeout_seconds:g} s", server=self._server) from None
        except RpcError as error:
            raise ToolExecutionError(
                error.message, server=self._server, rpc_code=error.code, data=error.data
            ) from error

    async def hear_changes(self) -> None:
        """Keep a subscription to changed lists open (modern era); ends when the server ends it."""
        wanted = {name: True for kind, name in _LIST_CHANGES.items() if self._tells_changes(kind)}
        if self.identity.era == "modern" and wanted:
            await self._listen(wanted)

    async def listen_to(self, addresses: Sequence[str]) -> bool:
        """Keep a subscription to resources open (modern era) until the server ends it; False where it refuses."""
        return await self._listen({"resourceSubscriptions": list(addresses)})

    async def _listen(self, wanted: Mapping[str, object]) -> bool:
        try:
            await self._request("subscriptions/listen", {"notifications": wanted})
        except RpcError as error:
            log.debug("%s: no subscription to changes: %s", self._server, error)
            return False
        except ServerConnectionError as lost:
            log.debug("%s: the subscription to changes broke: %s", self._server, lost.message)
        return True

    def _tells_changes(self, kind: str) -> bool:
        declared = self.identity.capabilities.get(kind)
        return isinstance(declared, Mapping) and bool(declared.get("listChanged"))

    async def tell_roots_changed(self) -> None:
        """A server of the handshake era asks for the folders again; a modern one keeps none."""
        if self.identity.era == "legacy":
            await self.link.notify(ROOTS_CHANGED, b"{}", self._envelope.headers(ROOTS_CHANGED))

    async def _request(self, method: str, params: Mapping[str, object]) -> Json:
        return await self.link.request(
            self._next_id(), method, self._envelope.params(params), self._envelope.headers(method)
        )

    async def _ask_for_logs(self) -> None:
        """A handshake-era server has one level for all who call it; a modern one hears it with each request.

        So it is told the lowest level of all calls under way, and each call hears what it asked for itself.
        """
        wanted = None if self.identity.era == "modern" else self._inbox.lowest_level
        if wanted is None or wanted == self._log_level:
            return
        self._log_level = wanted
        if "logging" in self.identity.capabilities:
            try:
                async with asyncio.timeout(SET_LEVEL_SECONDS):
                    await self._request("logging/setLevel", {"level": wanted})
            except (RpcError, TimeoutError) as error:
                log.debug("%s: log level not set: %s", self._server, error)
            except ServerConnectionError as lost:
                lost.sent = False  # the call itself has not left us
                raise

"""Prompts, resources and completion as clients know them: from the parameters of a method to the gateway, and back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

import msgspec

from toolcrib.errors import ToolcribError
from toolcrib.gateway import Gateway
from toolcrib.model.asking import Conversation, InputRound
from toolcrib.model.call import ExecutionError, Listener, ToolResult
from toolcrib.model.caller import EVERYTHING, LIBRARY, Caller, Rights
from toolcrib.model.reading import Era
from toolcrib.server.execution_request import ExecutionRequest
from toolcrib.server.input_rounds import InputRounds
from toolcrib.server.links_in_results import links_in
from toolcrib.server.list_changes import ListChanges
from toolcrib.server.native_errors import not_found, rpc_error, rpc_error_of
from toolcrib.server.native_names import Offered, SeenLinks, Table, listed, own_address, servers_by_template
from toolcrib.server.native_pages import page_of
from toolcrib.server.protocol_errors import answered
from toolcrib.server.request_params import RequestParams, is_cursor, require
from toolcrib.server.requests import Request
from toolcrib.server.results import CACHE_HINTS, Members, interim_members, passed_on
from toolcrib.wire.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError

LISTS_TTL_MS: Final = 60_000
METHODS: Final = frozenset(
    {
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
    }
)
_WITH_LISTENING: Final[Mapping[Era, frozenset[str]]] = {
    "legacy": METHODS | {"resources/subscribe", "resources/unsubscribe"},
    "modern": METHODS | {"subscriptions/listen"},
}
# Resources are not among them: links in results can be read, though no resource may be listed.
_OF_PROMPTS: Final = frozenset({"prompts/list", "prompts/get"})
_NOTHING = frozenset[str]()
_encode = msgspec.json.Encoder().encode
_arguments = msgspec.json.Decoder(dict[str, Any]).decode

Answer = Callable[[RequestParams, Request], Awaitable[Members]]


class NativeMethods:
    """Answers the methods for prompts and resources; whatever goes wrong is an RpcError."""

    def __init__(self, gateway: Gateway, rounds: InputRounds) -> None:
        self._gateway = gateway
        self._view = gateway.workspace.view
        self._rounds = rounds
        self._links = SeenLinks()
        self._offered: dict[Rights, Offered] = {}
        self._offered_of: object = None
        self.changes = ListChanges(gateway.workspace, self._offered_to)
        self._answers: Mapping[str, Answer] = {
            "prompts/list": partial(self._list, "prompts", "prompts"),
            "prompts/get": self._prompt,
            "resources/list": partial(self._list, "resources", "resources"),
            "resources/templates/list": partial(self._list, "templates", "resourceTemplates"),
            "resources/read": self._read,
            "completion/complete": self._complete,
        }

    def methods(self, era: Era, rights: Rights = EVERYTHING) -> frozenset[str]:
        """The methods that are answered now in one era, those of clients that listen included.

        In the newest revision whoever answers for prompts has to declare them. A client of the handshake era was told at its
        beginning what there is, and gets an empty list where there is nothing any more.
        """
        if self._gateway.settings.native == "off":
            return _NOTHING
        without = _OF_PROMPTS if era == "modern" and "prompts" not in self.capabilities(rights) else _NOTHING
        return _WITH_LISTENING[era] - without

    def lists_told(self, rights: Rights) -> dict[str, bool]:
        """Of which lists a client of the handshake era hears, that comes now: of those that are declared."""
        declared = self.capabilities(rights)
        return {"promptsListChanged": "prompts" in declared, "resourcesListChanged": "resources" in declared}

    async def subscribe(self, uri: str, hear: Callable[[str], None], request: Request) -> Callable[[], Awaitable[None]]:
        """Hear of a resource that a client knows by this address; gives what ends that. Raises RpcError."""
        server, own = self._place(uri, request)
        try:
            return await self._gateway.subscribe(
                server, own, hear, caller=request.caller, caller_now=request.caller_now
            )
        except ToolcribError as error:
            raise rpc_error(ExecutionError.of(error, server, own), modern=request.is_modern, uri=uri) from error

    def capabilities(self, rights: Rights = EVERYTHING) -> dict[str, Any]:
        """What to declare to a client that comes now: what there is for it, unless the settings say otherwise."""
        setting = self._gateway.settings.native
        if setting == "off":
            return {}
        caller, is_on = replace(LIBRARY, rights=rights), setting == "on"
        offered = self._offered_to(caller)
        declared: dict[str, Any] = {}
        if is_on or offered.prompts:
            declared["prompts"] = {"listChanged": True}
        if is_on or offered.resources or offered.templates:
            declared["resources"] = {"subscribe": is_on or self._any_has(_subscribes, caller), "listChanged": True}
        if declared and (is_on or self._any_has(_completes, caller)):
            declared["completions"] = {}
        return declared

    async def answer(self, method: str, params: RequestParams, request: Request) -> Members:
        """The members of the result of one of the methods."""
        error_of = partial(rpc_error_of, modern=request.is_modern)
        return await answered(method, self._answers[method](params, request), error_of)

    def note_links(self, result: ToolResult, server: str, caller: Caller) -> None:
        """Remember where addresses in a result came from, so that the caller can read them."""
        for uri in links_in(result):
            self._links.note((caller.key, caller.session), uri, server)

    # -- methods

    async def _list(self, kind: str, member: str, params: RequestParams, request: Request) -> Members:
        require(is_cursor(params.cursor))
        await self._gateway.first_reading()
        table: Table = getattr(self._offered_to(request.caller), kind)
        names, following = page_of(list(table), params.cursor)
        members = {member: msgspec.Raw(_encode([listed(name, table[name]) for name in names]))}
        if following is not None:
            members["nextCursor"] = msgspec.Raw(_encode(following))
        return members | (_hints(LISTS_TTL_MS) if request.is_modern else {})

    async def _prompt(self, params: RequestParams, request: Request) -> Members:
        require(isinstance(params.name, str))
        visible = self._offered_to(request.caller).prompts.get(params.name)
        if visible is None:
            raise RpcError(INVALID_PARAMS, f"Unknown prompt: {params.name}")
        raw = params.arguments_json
        try:
            arguments = _arguments(raw)
        except (msgspec.DecodeError, RecursionError):
            raise RpcError(INVALID_PARAMS, "prompts/get: arguments must be an object") from None
        asked = ExecutionRequest(visible.tool.server, visible.tool.name, raw, arguments)
        return await self._got(asked, request)

    async def _read(self, params: RequestParams, request: Request) -> Members:
        require(isinstance(params.uri, str))
        server, uri = self._place(params.uri, request)
        members = await self._got(ExecutionRequest(server, f"resource:{uri}", b"{}", {}), request, params.uri)
        return (_hints(0) | members) if request.is_modern and "resultType" not in members else members

    async def _complete(self, params: RequestParams, request: Request) -> Members:
        reference, argument, context = params.ref, params.argument, params.context
        require(isinstance(reference, dict), isinstance(argument, dict), context is None or isinstance(context, dict))
        name, value = argument.get("name"), argument.get("value")
        require(isinstance(name, str), isinstance(value, str))
        offered = self._offered_to(request.caller)
        is_prompt = reference.get("type") == "ref/prompt"
        table, key = (offered.prompts, "name") if is_prompt else (offered.templates, "uri")
        visible = table.get(str(reference.get(key)))
        if visible is None:
            raise RpcError(INVALID_PARAMS, f"nothing of that name can be completed: {reference.get(key)}")
        found = await self._gateway.complete(
            visible.tool.server, visible.tool.name, name, value, context=context, caller=request.caller
        )
        return {"completion": msgspec.Raw(_encode(found))}

    # -- inside

    def _offered_to(self, caller: Caller) -> Offered:
        """Made anew only where something changed; who has the same rights is offered the same."""
        state = (self._view.version, self._view.catalog.version)
        if self._offered_of != state:
            self._offered_of, self._offered = state, {}
        offered = self._offered.get(caller.rights)
        if offered is None:
            offered = self._offered[caller.rights] = Offered.to(self._view, caller)
        return offered

    def _any_has(self, has: Callable[[Mapping[str, Any]], bool], caller: Caller) -> bool:
        """Whether any server of the caller declared so."""
        identities = (self._view.identity(server) for server in self._view.servers(caller))
        return any(one is not None and has(one.capabilities) for one in identities)

    def _place(self, uri: str, request: Request) -> tuple[str, str]:
        """The server that is asked for an address, and what it is called there; raises RpcError where that is not clear."""
        caller, offered = request.caller, self._offered_to(request.caller)
        own = own_address(uri, self._view, caller)
        if own is not None:
            return own
        if uri in offered.resources:
            return offered.resources[uri].tool.server, uri
        seen = self._links.server_of((caller.key, caller.session), uri)
        if seen is not None:
            return seen, uri
        servers = servers_by_template(uri, self._view, caller)
        if len(servers) != 1:
            raise not_found(uri, modern=request.is_modern, servers=servers)
        return servers[0], uri

    async def _got(self, asked: ExecutionRequest, request: Request, uri: str | None = None) -> Members:
        run = partial(self._run, asked, request, uri)
        if request.modern is None:
            return await run(request.conversation, request.listener)
        members = await self._rounds.run(asked, request.caller, request.modern, request.listener, run)
        if "isError" in members:  # of a call that waited for answers and is gone
            raise RpcError(INTERNAL_ERROR, "this request does not wait for answers any more: begin anew")
        return members

    async def _run(
        self,
        asked: ExecutionRequest,
        request: Request,
        uri: str | None,
        client: Conversation | None,
        listener: Listener | None,
        given: InputRound | None = None,
    ) -> Members:
        call = request.call(asked, client, listener, given).but(is_verbatim=True)
        outcome = await self._gateway.execute(call)
        if outcome.error is not None:
            raise rpc_error(outcome.error, modern=request.is_modern, uri=uri)
        if outcome.result is None:
            raise RpcError(INTERNAL_ERROR, "the server gave nothing")
        if not outcome.result.is_complete:
            return interim_members(outcome.result)
        self.note_links(outcome.result, asked.server, request.caller)
        return passed_on(outcome.result, keeps=CACHE_HINTS if request.is_modern else ())


def _completes(capabilities: Mapping[str, Any]) -> bool:
    return "completions" in capabilities


def _subscribes(capabilities: Mapping[str, Any]) -> bool:
    resources = capabilities.get("resources")
    return isinstance(resources, Mapping) and bool(resources.get("subscribe"))


def _hints(ttl_ms: int) -> Members:
    """How long a client may keep an answer, where the server did not say; for itself, since others may see something else."""
    return {"ttlMs": msgspec.Raw(_encode(ttl_ms)), "cacheScope": msgspec.Raw(b'"private"')}

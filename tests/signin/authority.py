"""A real authorization server and a server that wants its tokens, on loopback; what goes wrong can be switched on."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode

import jwt
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.upstream.http_servers import serve

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


@dataclass
class Grant:
    """What a person agreed to: which scopes, and which refresh token is good for it now."""

    scope: str
    resource: str
    refresh: str = ""
    is_withdrawn: bool = False


@dataclass
class Authority:
    """Gives out tokens. `life` is how long they say they hold; `down` is the status of every answer while it is set."""

    life: int | None = 3600
    rotates: bool = True
    down: int | None = None
    agrees: bool = True
    # Scopes that nobody gets, whatever they ask for.
    withholds: str = ""
    offers_device: bool = False
    device_answers: list[str] = field(default_factory=list)
    device_pause: float = 0.01
    metadata_changes: dict[str, Any] = field(default_factory=dict)
    issuer_in_answer: str | None = None
    registration_status: int = 201
    slow: asyncio.Event | None = None
    # Of the client `machine`, where it signs instead of having a secret.
    public_key: Any = None
    address: str = ""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    codes: dict[str, tuple[Grant, dict[str, str]]] = field(default_factory=dict)
    grants: dict[str, Grant] = field(default_factory=dict)
    access: dict[str, Grant] = field(default_factory=dict)
    reused: int = 0
    _count: int = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        routes = [
            Route("/.well-known/oauth-authorization-server", self._metadata),
            Route("/register", self._register, methods=["POST"]),
            Route("/authorize", self._authorize),
            Route("/token", self._token, methods=["POST"]),
            Route("/revoke", self._revoke, methods=["POST"]),
            Route("/device", self._device, methods=["POST"]),
        ]
        async with serve(Starlette(routes=routes)) as address:
            self.address = address
            yield address

    def asked(self, path: str, grant_type: str = "") -> list[dict[str, str]]:
        """The forms or queries that came to a path."""
        return [
            form
            for at, form in self.requests
            if at == path and (not grant_type or form.get("grant_type") == grant_type)
        ]

    def give(self, scope: str = "read", resource: str = "") -> tuple[str, str]:
        """Tokens as if a person had signed in before: access and refresh."""
        answer = self._tokens(Grant(scope, resource))
        return answer["access_token"], answer.get("refresh_token", "")

    def expire(self, access: str) -> None:
        """The server does not take this token any more."""
        self.access.pop(access, None)

    def withdraw_all(self) -> None:
        for grant in {id(grant): grant for grant in [*self.grants.values(), *self.access.values()]}.values():
            grant.is_withdrawn = True
        self.access.clear()

    async def _metadata(self, _: Request) -> Response:
        if self.down is not None:
            return Response("<html>down</html>", self.down)
        metadata = {
            "issuer": self.address,
            "authorization_endpoint": f"{self.address}/authorize",
            "token_endpoint": f"{self.address}/token",
            "registration_endpoint": f"{self.address}/register",
            "revocation_endpoint": f"{self.address}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        if self.offers_device:
            metadata["device_authorization_endpoint"] = f"{self.address}/device"
        changed = {**metadata, **self.metadata_changes}
        return JSONResponse({name: value for name, value in changed.items() if value is not None})

    async def _register(self, request: Request) -> Response:
        asked = await request.json()
        self.requests.append(("/register", {"redirect_uris": " ".join(asked.get("redirect_uris") or [])}))
        if self.registration_status != 201:
            return JSONResponse({"error": "access_denied"}, self.registration_status)
        client = f"client-{self._next()}"
        self.clients[client] = asked
        return JSONResponse({**asked, "client_id": client, "token_endpoint_auth_method": "none"}, 201)

    async def _authorize(self, request: Request) -> Response:
        query = dict(request.query_params)
        self.requests.append(("/authorize", query))
        back: dict[str, str] = {"state": query["state"], "iss": self.issuer_in_answer or self.address}
        if self.agrees:
            code = f"code-{self._next()}"
            scopes = [scope for scope in query.get("scope", "").split() if scope not in self.withholds.split()]
            self.codes[code] = (Grant(" ".join(scopes), query.get("resource", "")), query)
            back["code"] = code
        else:
            back["error"] = "access_denied"
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(back)}", 302)

    async def _token(self, request: Request) -> Response:
        form = _form(await request.body())
        basic = request.headers.get("authorization", "")
        if basic.startswith("Basic "):
            name, _, secret = base64.b64decode(basic[6:]).decode().partition(":")
            form |= {"basic_id": unquote(name), "basic_secret": unquote(secret)}
        self.requests.append(("/token", form))
        if self.slow is not None:
            await self.slow.wait()
        if self.down is not None:
            return Response("<html>down</html>", self.down)
        answer = self._answer(form)
        return JSONResponse(answer, 400 if "error" in answer else 200)

    def _answer(self, form: Mapping[str, str]) -> dict[str, Any]:
        kind = form.get("grant_type")
        if kind == "authorization_code":
            return self._for_code(form)
        if kind == "refresh_token":
            return self._for_refresh(form)
        if kind == "client_credentials":
            return self._for_credentials(form)
        if kind == DEVICE:
            waiting = self.device_answers.pop(0) if self.device_answers else ""
            return {"error": waiting} if waiting else self._tokens(Grant("device", form.get("resource", "")))
        return {"error": "unsupported_grant_type"}

    def _for_code(self, form: Mapping[str, str]) -> dict[str, Any]:
        found = self.codes.pop(form.get("code", ""), None)
        if found is None:
            return {"error": "invalid_grant"}
        grant, query = found
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if proof != query["code_challenge"] or form.get("redirect_uri") != query["redirect_uri"]:
            return {"error": "invalid_grant"}
        return self._tokens(grant)

    def _for_refresh(self, form: Mapping[str, str]) -> dict[str, Any]:
        given = form.get("refresh_token", "")
        grant = self.grants.get(given)
        if grant is None or grant.is_withdrawn:
            return {"error": "invalid_grant", "error_description": "the person withdrew it"}
        if grant.refresh != given:
            # Of two users of a rotating token one is a thief: the whole grant ends.
            self.reused += 1
            grant.is_withdrawn = True
            return {"error": "invalid_grant"}
        return self._tokens(grant)

    def _for_credentials(self, form: Mapping[str, str]) -> dict[str, Any]:
        if self.public_key is not None:
            return self._for_signature(form)
        if (form.get("basic_id"), form.get("basic_secret")) != ("machine", "machine-secret-8f2a61"):
            return {"error": "invalid_client"}
        answer = self._tokens(Grant(form.get("scope", ""), form.get("resource", "")))
        answer.pop("refresh_token", None)
        return answer

    def _for_signature(self, form: Mapping[str, str]) -> dict[str, Any]:
        assert form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        try:
            algorithms = ["RS256", "ES256"]
            claims = jwt.decode(form["client_assertion"], self.public_key, algorithms, audience=self.address)
        except jwt.InvalidTokenError:
            return {"error": "invalid_client"}
        if (claims["iss"], claims["sub"]) != ("machine", "machine") or claims["jti"] in self.codes:
            return {"error": "invalid_client"}
        self.codes[claims["jti"]] = (Grant("", ""), {})  # each proof is good once
        answer = self._tokens(Grant(form.get("scope", ""), form.get("resource", "")))
        answer.pop("refresh_token", None)
        return answer

    def _tokens(self, grant: Grant) -> dict[str, Any]:
        access = f"access-{self._next()}-{hashlib.sha256(str(self._count).encode()).hexdigest()[:24]}"
        self.access[access] = grant
        answer: dict[str, Any] = {"access_token": access, "token_type": "Bearer"}
        if self.life is not None:
            answer["expires_in"] = self.life
        if self.rotates or not grant.refresh:
            grant.refresh = f"refresh-{self._next()}-{hashlib.sha256(str(self._count).encode()).hexdigest()[:24]}"
            self.grants[grant.refresh] = grant
            answer["refresh_token"] = grant.refresh
        return answer

    async def _revoke(self, request: Request) -> Response:
        form = _form(await request.body())
        self.requests.append(("/revoke", form))
        grant = self.grants.get(form.get("token", "")) or self.access.get(form.get("token", ""))
        if grant is not None:
            grant.is_withdrawn = True
            self.access = {token: of for token, of in self.access.items() if of is not grant}
        return Response(status_code=200)

    async def _device(self, request: Request) -> Response:
        self.requests.append(("/device", _form(await request.body())))
        return JSONResponse(
            {
                "device_code": "device-code-5c1e",
                "user_code": "ABCD-EFGH",
                "verification_uri": f"{self.address}/activate",
                "expires_in": 300,
                "interval": self.device_pause,
            }
        )

    def _next(self) -> int:
        self._count += 1
        return self._count


@dataclass
class Vault:
    """An MCP server that takes the tokens of one authority. `scopes` are needed by all; a tool may need more."""

    authority: Authority
    scopes: str = "read"
    tool_scopes: dict[str, str] = field(default_factory=dict)
    challenge: str | None = None
    refuses_all: bool = False
    # Which era it looks for before it looks at who asks; none: it does not.
    knows_only: str = ""
    metadata_changes: dict[str, Any] = field(default_factory=dict)
    address: str = ""
    tokens: list[str] = field(default_factory=list)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """The URL of its endpoint."""
        server = Server("vault", version="1", on_list_tools=self._list, on_call_tool=self._call)
        self._app: ASGIApp = server.streamable_http_app()
        async with serve(self) as address:
            self.address = address
            yield f"{address}/mcp"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            app = await self._guarded(scope, Headers(scope=scope), app)
        await app(scope, receive, send)

    async def _guarded(self, scope: Scope, headers: Headers, app: ASGIApp) -> ASGIApp:
        if scope["path"] == "/.well-known/oauth-protected-resource/mcp":
            metadata = {"resource": f"{self.address}/mcp", "authorization_servers": [self.authority.address]}
            return JSONResponse({**metadata, **self.metadata_changes})
        if scope["path"] != "/mcp":
            return Response(status_code=404)
        era = "modern" if headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS else "legacy"
        if self.knows_only not in ("", era):
            return JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no"}}, 400)
        token = headers.get("authorization", "").removeprefix("Bearer ")
        self.tokens.append(token)
        grant = self.authority.access.get(token)
        if grant is None or self.refuses_all:
            return Response(status_code=401, headers={"www-authenticate": self._asks_for(self.scopes)})
        needed = self.tool_scopes.get(headers.get("mcp-name", ""), "")
        if not set(needed.split()) <= set(grant.scope.split()):
            asks = f'{self._asks_for(needed)}, error="insufficient_scope"'
            return Response(status_code=403, headers={"www-authenticate": asks})
        return app

    def _asks_for(self, scopes: str) -> str:
        if self.challenge is not None:
            return self.challenge
        place = f"{self.address}/.well-known/oauth-protected-resource/mcp"
        return f'Bearer resource_metadata="{place}", scope="{scopes}"'

    async def _list(self, _ctx: Any, _params: Any) -> types.ListToolsResult:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        named = [("open_drawer", "Say a text again"), ("wait_for_it", "Wait until released"), ("delete_all", "Delete")]
        tools = [types.Tool(name=name, description=what, input_schema=schema) for name, what in named]
        return types.ListToolsResult(tools=tools, ttl_ms=60_000, cache_scope="private")

    async def _call(self, _ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "wait_for_it":
            self.waiting += 1
            self.started.set()
            await self.release.wait()
        return types.CallToolResult(content=[types.TextContent(text=json.dumps(params.arguments or {}))])


def _form(body: bytes) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(body.decode()).items()}

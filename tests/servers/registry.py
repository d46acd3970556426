"""A small registry of servers over HTTP, in the official format, that can also misbehave."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

OFFICIAL = "io.modelcontextprotocol.registry/official"
BOUND_SECONDS = 10.0


def entry(
    name: str,
    description: str = "A server",
    *,
    version: str = "1.0.0",
    status: str = "active",
    updated: str = "2026-02-01T00:00:00Z",
    latest: bool = True,
    message: str | None = None,
    **server: Any,
) -> dict[str, Any]:
    """One item of a list answer."""
    said = {
        "status": status,
        "statusMessage": message,
        "publishedAt": updated,
        "updatedAt": updated,
        "isLatest": latest,
    }
    return {
        "server": {"name": name, "description": description, "version": version, **server},
        "_meta": {OFFICIAL: said},
    }


def npm(identifier: str, version: str = "1.0.0", **more: Any) -> dict[str, Any]:
    return {
        "registryType": "npm",
        "identifier": identifier,
        "version": version,
        "transport": {"type": "stdio"},
        **more,
    }


ATLAS = entry(
    "io.github.acme/atlas",
    "Maps, routes and geocoding for agents",
    title="Atlas",
    version="1.2.0",
    packages=[
        npm(
            "@acme/atlas",
            "1.2.0",
            runtimeHint="npx",
            packageArguments=[{"type": "named", "name": "--units", "value": "metric"}],
            environmentVariables=[
                {
                    "name": "ATLAS_KEY",
                    "description": "Key from the Atlas console",
                    "isRequired": True,
                    "isSecret": True,
                },
                {"name": "ATLAS_REGION", "default": "eu"},
            ],
        )
    ],
    remotes=[{"type": "streamable-http", "url": "https://atlas.example/mcp"}],
    repository={"url": "https://code.example/acme/atlas", "source": "git"},
)
OLD_ATLAS = entry("io.github.acme/atlas", "Maps", version="1.1.0", latest=False, updated="2025-12-01T00:00:00Z")
POST = entry("com.example/post", "Send and read e-mail", remotes=[{"type": "sse", "url": "https://post.example/sse"}])
LEDGER = entry(
    "io.github.acme/ledger",
    "Double-entry bookkeeping on a PostgreSQL database",
    status="deprecated",
    message="use ledger2",
    packages=[npm("acme-ledger", "3.0.0")],
)
PLAGUE = entry("io.github.mallory/plague", "Spam", status="deleted", updated="2026-02-02T00:00:00Z")
SITE = entry("org.example/brochure", "Only a web site", websiteUrl="https://brochure.example")
EVERYDAY = (ATLAS, OLD_ATLAS, POST, LEDGER, SITE)


@dataclass(frozen=True)
class Fault:
    """An answer that is given instead of the right one."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    is_silent: bool = False


class Registry:
    """What it lists, how it misbehaves next, and what it was asked."""

    def __init__(self, entries: Iterable[dict[str, Any]] = EVERYDAY, *, lists_everything: bool = False) -> None:
        self.entries: list[Any] = list(entries)
        self.lists_everything = lists_everything
        self.faults: deque[Fault] = deque()
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.page_size: int | None = None
        self.is_endless = False
        self.gives_etags = True
        self.url = ""
        self.closing = threading.Event()

    @property
    def paths(self) -> list[str]:
        return [urlsplit(request).path for request in self.requests]

    def asked(self, name: str) -> list[str]:
        """The values a parameter had, request by request."""
        return [parse_qs(urlsplit(request).query).get(name, [""])[0] for request in self.requests]

    def answer(self, target: str) -> tuple[int, Any]:
        parts = urlsplit(target)
        given = {name: values[0] for name, values in parse_qs(parts.query).items()}
        segments = [unquote(segment) for segment in parts.path.split("/v0.1/servers")[-1].split("/") if segment]
        if not segments:
            return 200, self._list(given)
        found = [one for one in self._known() if one["server"]["name"] == segments[0]]
        if segments[1:] == ["versions"] and found:
            return 200, {"servers": found, "metadata": {"count": len(found)}}
        if len(segments) == 3:
            wanted = segments[2]
            for one in found:
                is_latest = one["_meta"][OFFICIAL]["isLatest"]
                if one["server"]["version"] == wanted or (wanted == "latest" and is_latest):
                    return 200, one
        return 404, {"title": "Not Found", "status": 404}

    def _known(self) -> list[dict[str, Any]]:
        return [one for one in self.entries if isinstance(one, dict) and OFFICIAL in one.get("_meta", {})]

    def _list(self, given: dict[str, str]) -> dict[str, Any]:
        rows = [one for one in self.entries if self.lists_everything or self._is_wanted(one, given)]
        size = min(self.page_size or 100, int(given.get("limit", "30")))
        start = int(given.get("cursor", "0"))
        page = rows[start : start + size]
        metadata: dict[str, Any] = {"count": len(page)}
        if self.is_endless:
            metadata["nextCursor"] = given.get("cursor", "0")
        elif start + size < len(rows):
            metadata["nextCursor"] = str(start + size)
        return {"servers": page, "metadata": metadata}

    @staticmethod
    def _is_wanted(one: Any, given: dict[str, str]) -> bool:
        said = one.get("_meta", {}).get(OFFICIAL, {}) if isinstance(one, dict) else {}
        if not said:
            return True
        if given.get("version") == "latest" and not said["isLatest"]:
            return False
        if said["status"] == "deleted" and "updated_since" not in given:
            return False
        if said["updatedAt"] < given.get("updated_since", ""):
            return False
        return given.get("search", "").lower() in (one["server"]["name"] + one["server"]["description"]).lower()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    registry: Registry

    def do_GET(self) -> None:
        registry = self.registry
        registry.requests.append(self.path)
        registry.headers.append({name.lower(): value for name, value in self.headers.items()})
        if registry.faults:
            fault = registry.faults.popleft()
            if fault.is_silent:
                registry.closing.wait(BOUND_SECONDS)
                self.close_connection = True
                return
            self._send(fault.status, fault.body, fault.headers)
            return
        status, value = registry.answer(self.path)
        body = json.dumps(value).encode()
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if not registry.gives_etags:
            self._send(status, body, {})
        elif self.headers.get("If-None-Match") == tag:
            self._send(304, b"", {"ETag": tag})
        else:
            self._send(status, body, {"ETag": tag})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serve(registry: Registry) -> Iterator[Registry]:
    """Serve a registry in a thread of its own, on a free port of the loopback address."""
    handler = type("Handler", (_Handler,), {"registry": registry})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    registry.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        registry.closing.set()
        server.shutdown()
        server.server_close()
        thread.join(BOUND_SECONDS)

"""One registry that speaks the API v0.1: list, search, one server, its versions."""

from __future__ import annotations

import asyncio
import random as chance
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol
from urllib.parse import quote, urlencode, urlsplit

from toolcrib.errors import AuthenticationFailed, RateLimited, RegistryError, ToolcribError
from toolcrib.limits.rate import RateLimitConfig, RateLimiter, Sleep
from toolcrib.limits.retry import RetryPolicy, retrying
from toolcrib.masking.entries import masked_address
from toolcrib.model.web import WebAnswer
from toolcrib.registry.answers import Answers
from toolcrib.registry.entry import RegistryServer
from toolcrib.registry.pages import Page, read_one, read_page
from toolcrib.registry.versions import only_newest, order

PAGE_SIZE = 100
SEARCH_SIZE = 50
MOST_PAGES = 3_000
# Pages that bring nothing new, one after the other, before a list counts as endless.
_IDLE_PAGES = 3
_MAY_PASS = frozenset({429, 502, 503, 504})
_VERSIONED = re.compile(r"/(?:v\d+(?:\.\d+)?|\d{4}-\d{2}-\d{2})$")


class Web(Protocol):
    """Fetches a document; raises ServerConnectionError or CallTimeout where there is no answer."""

    async def get(self, url: str, headers: Mapping[str, str]) -> WebAnswer: ...


class RegistryClient:
    """Asks politely: paced, again where a failure may pass, and not at all for what it was told a short while ago."""

    def __init__(
        self,
        base_url: str,
        web: Web,
        *,
        limiter: RateLimiter,
        rate: RateLimitConfig,
        retries: RetryPolicy,
        answers: Answers,
        sleep: Sleep = asyncio.sleep,
        random: Callable[[], float] = chance.random,
        most_pages: int = MOST_PAGES,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._shown_url = masked_address(self.base_url)
        self._servers_url = servers_url(self.base_url)
        self._web = web
        self._limiter = limiter
        self._rate = rate
        self._retries = retries
        self._answers = answers
        self._sleep = sleep
        self._random = random
        self._most_pages = most_pages

    async def search(self, query: str, limit: int = SEARCH_SIZE) -> list[RegistryServer]:
        """Servers whose name (or, with newer registries, description) holds `query`: no ranking, no several words."""
        page = await self._page({"search": query, "limit": str(min(limit, PAGE_SIZE)), "version": "latest"})
        return [server for server in only_newest(page.servers) if server.status != "deleted"]

    async def server(self, name: str, version: str = "latest") -> RegistryServer | None:
        """One version of a server; None where the registry has none of that name."""
        path = f"{self._servers_url}/{_quoted(name)}"
        body = await self._body(f"{path}/versions/{_quoted(version)}")
        if body is None and version == "latest":
            # Registries from before October 2025 have no versions below a server.
            body = await self._body(path)
        return None if body is None else read_one(body, self.base_url)

    async def versions(self, name: str) -> list[RegistryServer]:
        """All versions, the newest first."""
        body = await self._body(f"{self._servers_url}/{_quoted(name)}/versions")
        found = () if body is None else read_page(body, self.base_url).servers
        return sorted(found, key=order, reverse=True)

    async def pages(self, *, cursor: str = "", updated_since: str = "") -> AsyncIterator[Page]:
        """The whole list of newest versions, or what changed since a time; RegistryError when it does not end."""
        seen_cursors, seen, idle = {cursor}, set[tuple[str, str]](), 0
        given = {"limit": str(PAGE_SIZE), "version": "latest", "updated_since": updated_since}
        for _ in range(self._most_pages):
            page = await self._page({**given, "cursor": cursor}, keep=False)
            yield page
            fresh = {(server.name, server.version) for server in page.servers} - seen
            seen |= fresh
            idle = 0 if fresh else idle + 1
            cursor = page.next_cursor
            if not cursor:
                return
            if cursor in seen_cursors or idle >= _IDLE_PAGES:
                break
            seen_cursors.add(cursor)
        raise RegistryError(
            "its list never ends",
            registry=self._shown_url,
            hint="Report this to whoever runs the registry.",
        )

    async def _page(self, parameters: Mapping[str, str], *, keep: bool = True) -> Page:
        query = urlencode({name: value for name, value in parameters.items() if value}, errors="replace")
        body = await self._body(f"{self._servers_url}?{query}", keep=keep)
        if body is None:
            raise self._unexpected(404)
        return read_page(body, self.base_url)

    async def _body(self, url: str, *, keep: bool = True) -> bytes | None:
        """The document at `url`, from the answers kept where they are fresh; None for 404."""
        kept = self._answers.get(url) if keep else None
        if kept is not None and kept.is_fresh:
            return kept.body
        answer = await self._ask(url, {"if-none-match": kept.etag} if kept is not None and kept.etag else {})
        if answer.status == 304 and kept is not None:
            self._answers.put(url, kept.etag, kept.body)
            return kept.body
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise self._unexpected(answer.status)
        if answer.is_cut:
            raise RegistryError(
                "its answer is too large", registry=self._shown_url, hint="maxHttpBodyBytes is the limit."
            )
        if keep:
            self._answers.put(url, answer.etag, answer.body)
        return answer.body

    async def _ask(self, url: str, headers: Mapping[str, str]) -> WebAnswer:
        async def attempt() -> WebAnswer:
            await self._limiter.acquire(self.base_url, self._rate)
            answer = await self._web.get(url, headers)
            if answer.status in _MAY_PASS:
                raise self._turned_away(answer)
            return answer

        return await retrying(attempt, self._retries, sleep=self._sleep, random=self._random)

    def _turned_away(self, answer: WebAnswer) -> ToolcribError:
        wait = answer.retry_after_seconds
        if answer.status == 429:
            return RateLimited(
                f"{self._shown_url} limits how often you can ask it",
                retry_after_seconds=wait,
                hint=f"Try again in {wait:.0f} s." if wait else "Try again later.",
            )
        error = self._unexpected(answer.status)
        error.retryable, error.retry_after_seconds = True, wait
        return error

    def _unexpected(self, status: int) -> ToolcribError:
        if status in (401, 403):
            return AuthenticationFailed(f"{self._shown_url} requires a sign-in ({status})", server=self._shown_url)
        return RegistryError(
            f"it answered with status {status}", registry=self._shown_url, hint="Check the address in registry.urls."
        )


def _quoted(text: str) -> str:
    # Half a surrogate pair, as arguments of a command may hold, can't be sent; no server has it in its name.
    return quote(text, safe="", errors="replace")


def servers_url(base_url: str) -> str:
    """Where the list is: below the version the address names, else below v0.1."""
    return f"{base_url}/servers" if _VERSIONED.search(urlsplit(base_url).path) else f"{base_url}/v0.1/servers"

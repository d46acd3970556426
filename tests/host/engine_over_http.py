"""A shared engine as clients over HTTP meet it, at the address that it wrote into its log."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2

from tests.host.shared_engine import SharedWorkshop
from tests.journeys.http_gateway import BOUND_SECONDS

_SERVED = re.compile(r"HTTP clients are (?:served at (http://\S+)|no longer served)")


class EngineOverHttp:
    """The engine in the background of a home."""

    def __init__(self, shared: SharedWorkshop) -> None:
        self._log: Path = shared.log
        self._token = shared.home / "token"

    @property
    def url(self) -> str:
        """Where it serves now; empty while it does not."""
        said = _SERVED.findall(self._log.read_text()) if self._log.exists() else []
        return said[-1] if said else ""

    @property
    def token(self) -> str:
        return self._token.read_text(encoding="ascii").strip()


def is_served(url: str) -> bool:
    """Whether anybody answers at this address."""
    try:
        return httpx2.get(url.replace("/mcp", "/health"), timeout=BOUND_SECONDS).status_code == httpx2.codes.OK
    except httpx2.TransportError:
        return False

"""What `toolcrib serve --http` tells the person who started it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.cli.terminal import Terminal
from toolcrib.version import VERSION


@dataclass(frozen=True, slots=True)
class Greeting:
    """How to connect and what to try; `own_entry` is what a client needs to start us itself.

    Where it is shared, such a client finds this gateway instead of having one of its own.
    """

    url: str
    servers: tuple[str, ...]
    token_file: Path
    own_entry: Mapping[str, Any]
    is_shared: bool = False
    # Who gives out the tokens, if that is not the file.
    issuer: str = ""

    def print(self, out: Terminal) -> None:
        over_http: dict[str, Any] = {"type": "http", "url": self.url}
        if not self.issuer:
            over_http["headers"] = {"Authorization": "Bearer <the token>"}
        out.write(f"Toolcrib {VERSION} serves MCP at {self.url}")
        out.item("  servers:      ", ", ".join(self.servers) or "none yet")
        out.item("  bearer token: ", f"of {self.issuer}" if self.issuer else f"in {self.token_file}")
        out.write()
        out.paragraph("Connect a client, for example with this entry in its file:")
        _print_entry(over_http, out)
        out.paragraph(f"or let the client start it, with no token needed{self._what_is_shared}:")
        _print_entry(self.own_entry, out)
        out.write()
        out.paragraph('Then ask for something, such as "what time is it in Tokyo?". Ctrl+C stops.')
        out.stream.flush()

    @property
    def _what_is_shared(self) -> str:
        return "; it then shares this gateway" if self.is_shared else ""


def _print_entry(entry: Mapping[str, Any], out: Terminal) -> None:
    """The entry as JSON, a key a line: it is there to be copied, and a line that is too long can't be."""
    pairs = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in entry.items()]
    out.write('  {"mcpServers": {"toolcrib": {')
    for pair in pairs[:-1]:
        out.write(f"    {pair},")
    out.write(f"    {pairs[-1]}}}}}}}")

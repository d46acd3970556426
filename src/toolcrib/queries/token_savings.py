"""What an agent does not have to read because the tools are behind a gateway, estimated."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from toolcrib.model.token_estimate import estimated_tokens
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.queries.budget import SEARCH_BUDGET_TOKENS
from toolcrib.queries.describe import details_view
from toolcrib.queries.details_answer import render_details
from toolcrib.workspace.catalog_view import CatalogView

# Enough for an average, and few enough for a command that answers at once.
SAMPLE = 50
# What clients hand to a model; the rest of a definition is for the client.
_FOR_MODELS = ("name", "description", "inputSchema")

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class TokenSavings:
    """Tokens at the start of a session: `definitions` of all tools as clients would load them, `own` with the gateway.

    `finding` is what it costs to look for one tool and read its details.
    """

    servers: int
    tools: int
    definitions: int
    own: int
    searching: int
    reading: int

    @property
    def saved(self) -> int:
        return self.definitions - self.own

    @property
    def finding(self) -> int:
        return self.searching + self.reading

    @property
    def tools_until_none(self) -> int:
        """After so many searches with a reading each, one session has saved nothing."""
        return max(0, self.saved) // self.finding


def token_savings(view: CatalogView, *, own: int, called: Collection[str]) -> TokenSavings:
    """Over the tools of all enabled servers that were read; `called` are the ids of those whose details count most."""
    servers = {name: list(view.tools(name).values()) for name in view.specs if view.was_read(name)}
    tools = [visible for of_server in servers.values() for visible in of_server]
    typical = [visible for visible in tools if visible.tool.id in called] or tools
    return TokenSavings(
        servers=len(servers),
        tools=len(tools),
        definitions=sum(definition_tokens(visible.tool.definition) for visible in tools),
        own=own,
        searching=SEARCH_BUDGET_TOKENS,
        reading=_average_details(islice(typical, SAMPLE)),
    )


def definition_tokens(definition: Mapping[str, Any]) -> int:
    """About as many tokens as a model reads of a definition."""
    read = {key: definition[key] for key in _FOR_MODELS if key in definition}
    return round(estimated_tokens(_encode(read).decode()))


def _average_details(tools: Iterable[VisibleTool]) -> int:
    costs = [estimated_tokens(_encode(render_details(details_view(visible))).decode()) for visible in tools]
    return round(sum(costs) / len(costs)) if costs else 0

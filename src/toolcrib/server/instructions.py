"""What the gateway says of itself at the handshake, for a model that may see nothing else of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product

from toolcrib.gateway import Gateway
from toolcrib.model.advice import SWITCHED_OFF, no_servers
from toolcrib.model.caller import EVERYTHING, LIBRARY, Rights
from toolcrib.model.token_estimate import estimated_tokens
from toolcrib.server.definitions import MOST_INSTRUCTION_TOKENS

MOST_TOPICS = 3
CHEAPEST_TOPIC = 3

PURPOSE = (
    "Toolcrib gives you the tools of many MCP servers through five tools. To use one: search_tools with what you want to "
    "do, in your own words; get_tool_details for its parameters; execute_tool with server, tool and arguments. Search "
    "before you say that something can't be done. If your client loads tools on demand, load these three first."
)
NOTHING_YET = "Toolcrib gives you the tools of MCP servers through five tools, but there are none now."
SEE_ALL = "list_mcp_servers shows all."

TopicsOf = Callable[[str], Sequence[str]]


def instructions(
    servers: Sequence[str], topics_of: TopicsOf, *, enabled: bool = True, rights: Rights = EVERYTHING
) -> str:
    """The text for these servers: every name that fits, then what each server is about while there is room."""
    if not enabled or not servers:
        return f"{NOTHING_YET} {no_servers(rights) if enabled else SWITCHED_OFF}"
    named, room = _named(servers, MOST_INSTRUCTION_TOKENS - estimated_tokens(f"{PURPOSE} Servers: ."))
    more = len(servers) - len(named)
    tail = f" and {more} more; {SEE_ALL}" if more else "."
    return f"{PURPOSE} Servers: {', '.join(_with_topics(named, topics_of, 0 if more else room))}{tail}"


def gateway_instructions(gateway: Gateway, rights: Rights = EVERYTHING) -> str:
    """The text for what is behind this gateway now, for whoever has these rights; it is fixed for the life of a process."""
    caller = replace(LIBRARY, rights=rights)
    names = [server.name for server in gateway.settings.servers if server.enabled and rights.may_see(server.name)]

    def topics_of(server: str) -> Sequence[str]:
        return gateway.topics([server], MOST_TOPICS + 1, caller=caller)

    return instructions(names, topics_of, enabled=gateway.settings.enabled, rights=rights)


def _named(servers: Sequence[str], room: float) -> tuple[list[str], float]:
    """The names that fit into so many tokens, and what is left of these."""
    costs = [estimated_tokens(f"{name}, ") for name in servers]
    if sum(costs) <= room:
        return list(servers), room - sum(costs)
    room -= estimated_tokens(f" and 1000 more; {SEE_ALL}")
    fitting = 1
    while fitting < len(costs) and sum(costs[: fitting + 1]) <= room:
        fitting += 1
    return list(servers[:fitting]), 0


def _with_topics(servers: Sequence[str], topics_of: TopicsOf, room: float) -> list[str]:
    """`github (issues, pull requests)`: a first topic for each server before any gets a second one."""
    topics = cache(lambda name: _telling(topics_of(name), name))
    shown: dict[str, list[str]] = {name: [] for name in servers}
    for rank, name in product(range(MOST_TOPICS), servers):
        if room < CHEAPEST_TOPIC:
            break  # what is known of the other servers need not even be looked up
        for topic in topics(name)[rank : rank + 1]:
            cost = estimated_tokens(f", {topic}")
            if cost <= room:
                shown[name].append(topic)
                room -= cost
    return [f"{name} ({', '.join(topics)})" if topics else name for name, topics in shown.items()]


def _telling(topics: Sequence[str], server: str) -> list[str]:
    """The topics that the server's name does not say already."""
    return [topic for topic in topics if topic.removesuffix("s") not in server.lower()][:MOST_TOPICS]

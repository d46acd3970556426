"""What a caller is shown of servers and tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcrib.model.effect import Effect
from toolcrib.model.items import ItemKind
from toolcrib.model.status import ServerStatus


@dataclass(frozen=True, slots=True)
class ServerSummary:
    """One configured server; `title` and `transport` are for people, never for the wire's short list."""

    name: str
    description: str
    tool_count: int
    enabled_count: int
    status: ServerStatus
    title: str = ""
    transport: str = "stdio"
    # Tools, prompts and resources that a person has to look at first.
    waiting_count: int = 0
    # Worked out only where somebody asks: lists of a thousand servers are made often.
    configure: Callable[[], Mapping[str, Any]] = field(default=dict, repr=False, compare=False)

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The server's entry in our own words, without any secret; for people and programs, never for the wire."""
        return self.configure()


@dataclass(frozen=True, slots=True)
class ToolSummary:
    """A tool in a list; `reason` says why it may not be used, and `waits` that a person has to look at it first.

    Of what is `unreviewed` nobody agreed to the words: it waits, was rejected, or is off besides.
    """

    server: str
    name: str
    summary: str
    enabled: bool
    tags: tuple[str, ...] = ()
    reason: str = ""
    kind: ItemKind = "tool"
    waits: bool = False
    unreviewed: bool = False


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A tool that was found; `relevance` is in 0..1."""

    server: str
    tool: str
    summary: str
    relevance: float
    tags: tuple[str, ...] = ()
    enabled: bool = True
    kind: ItemKind = "tool"


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The hits, and a note when nothing fits or servers are still being read.

    Where nothing fits there are no hits; `nearest` then has what comes closest.
    """

    hits: tuple[SearchHit, ...]
    note: str = ""
    nearest: tuple[SearchHit, ...] = ()

    def __iter__(self) -> Iterator[SearchHit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool, in words; `limits` are such as `1..100`, `default` is JSON, empty where there is none."""

    name: str
    type: str
    description: str
    required: bool
    limits: str = ""
    default: str = ""


@dataclass(frozen=True, slots=True)
class ToolDetails:
    """Everything needed to call a tool; `definition` is the server's own, whole.

    `examples` are the server's own; `made_up_example` only fits the schema, nobody says that it works. `fields` describes
    what is inside parameters, such as `edits[].oldText`. `is_whole` is false where the definition asks for more than that.
    `not_checked` says why arguments are passed on without having been held against the schema, `reason` why the tool may
    not be used.
    """

    server: str
    tool: str
    description: str
    parameters: tuple[Parameter, ...]
    signature: str
    enabled: bool
    tags: tuple[str, ...]
    examples: tuple[Mapping[str, Any], ...]
    returns: str
    definition: Mapping[str, Any]
    made_up_example: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, bool] = field(default_factory=dict)
    is_whole: bool = True
    not_checked: str = ""
    reason: str = ""
    kind: ItemKind = "tool"
    # What a call may do.
    effect: Effect = "write"

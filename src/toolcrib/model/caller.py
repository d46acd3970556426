"""Who asks, and what they may see."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Protocol

from toolcrib.model.effect import Confirm, is_asked_about
from toolcrib.model.visible_tool import VisibleTool


class Ruling(Protocol):
    """What rules say about one tool; `rule` is the number of the rule that decided, if one did."""

    @property
    def enabled(self) -> bool: ...

    @property
    def rule(self) -> int | None: ...

    @property
    def reason(self) -> str: ...


class Rules(Protocol):
    """Rules that hold for one caller besides those that hold for all; equal ones decide alike."""

    def decide(self, server: str, tool: str, *, is_item: bool = False) -> Ruling: ...


@dataclass(frozen=True, slots=True)
class Rights:
    """What a caller may see and run, of what the configuration lets anybody: None is all.

    `servers` are names or globs, and a tool must have one of the `tags`; both are about servers of the configuration, not
    about the built-in tools. `label` says where the rights come from. `also` are further rights that must allow a tool too.
    """

    servers: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    read_only: bool = False
    rules: Rules | None = None
    # Which calls a person confirms first, where more are to be asked about than of others.
    confirm: Confirm = "never"
    label: str = ""
    also: tuple[Rights, ...] = ()
    # Where the rights come from. Worked out once, like the hash: each call looks up what was decided for these rights.
    labels: tuple[str, ...] = field(init=False, repr=False, compare=False, default=())
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        told = (self.servers, self.tags, self.read_only, self.rules, self.label, self.also, self.confirm)
        object.__setattr__(self, "_hash", hash(told))
        object.__setattr__(self, "labels", tuple(part.label for part in (self, *self.also) if part.label))

    def __hash__(self) -> int:
        return self._hash

    def and_also(self, other: Rights) -> Rights:
        """What both allow."""
        if other is EVERYTHING or self is EVERYTHING:
            return self if other is EVERYTHING else other
        parts = tuple(dict.fromkeys(part for part in (*self.parts, *other.parts) if part != EVERYTHING))
        return replace(parts[0], also=parts[1:]) if parts else EVERYTHING

    @property
    def parts(self) -> tuple[Rights, ...]:
        """Each of the rights that must allow a tool, on its own."""
        return (replace(self, also=()), *self.also) if self.also else (self,)

    def may_see(self, server: str) -> bool:
        """Whether a server is for the caller at all."""
        return all(_covers(part, server) for part in self.parts)

    def refusal(self, visible: VisibleTool) -> str:
        """Why a tool is not for the caller, or nothing."""
        return next((reason for part in self.parts if (reason := _refusal(part, visible))), "")

    def asks_about(self, visible: VisibleTool) -> bool:
        """Whether a person confirms each call of a tool because of these rights."""
        # What the built-in tools change is decided by a person later.
        asking = (part.confirm for part in self.parts if part.confirm != "never") if visible.spec is not None else ()
        return any(is_asked_about(visible.effect, confirm) for confirm in asking)

    def denies(self, server: str, name: str) -> bool:
        """Whether a rule keeps the prompt or resource of this name away, rather than only not allowing it."""
        rulings = (part.rules.decide(server, name, is_item=True) for part in self.parts if part.rules is not None)
        return any(ruling.rule is not None and not ruling.enabled for ruling in rulings)


EVERYTHING = Rights()
NOTHING = Rights(servers=())


def _is_kept_to_servers(part: Rights) -> bool:
    return part.servers is not None and "*" not in part.servers


def _covers(part: Rights, server: str) -> bool:
    return part.servers is None or any(fnmatchcase(server, pattern) for pattern in part.servers)


def _refusal(part: Rights, visible: VisibleTool) -> str:
    """What one of the rights has against a tool."""
    tool, who = visible.tool, part.label or "this caller"
    if visible.spec is not None and not _covers(part, tool.server):
        return f"{who} has no right to the server"
    if visible.spec is None and visible.effect != "read" and _is_kept_to_servers(part):
        # What is proposed is compared with all servers, and would tell which there are besides.
        return f"{who} has a right to some servers only, so it proposes none"
    if visible.spec is not None and part.tags is not None and set(part.tags).isdisjoint(visible.tags):
        return f"{who} has a right to tools tagged {', '.join(part.tags)} only"
    if part.rules is not None:
        ruling = part.rules.decide(tool.server, tool.name, is_item=tool.kind != "tool")
        if not ruling.enabled:
            return f"{who} may not use it: {ruling.reason}"
    if part.read_only and visible.effect != "read":
        return f"{who} may only use tools that change nothing"
    return ""


@dataclass(frozen=True, slots=True)
class Caller:
    """A client by name and version, the face and session it came through, and what it may do.

    `key` separates callers that must not read each other's results.
    """

    name: str = "library"
    face: str = "library"
    key: str = "local"
    version: str = ""
    session: str = ""
    rights: Rights = field(default=EVERYTHING)
    # The person for whom the client acts, where somebody vouches for that.
    person: str = ""

    @property
    def shown(self) -> str:
        """Who it was, for those who look at it later."""
        return f"{self.name} for {self.person}" if self.person else self.name


# Whoever holds the gateway as an object, and the gateway's own work.
LIBRARY = Caller()

"""Who asks, and what they may see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Rights:
    """What a caller may see and run: tools of these servers (names or globs), and with one of these tags; None is all."""

    servers: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None

    def may_see(self, server: str) -> bool:
        """Whether a server is for the caller at all."""
        return self.servers is None or any(fnmatchcase(server, pattern) for pattern in self.servers)

    def refusal(self, server: str, tags: Iterable[str]) -> str:
        """Why a tool is not for the caller, or nothing."""
        if not self.may_see(server):
            return "this caller has no right to the server"
        if self.tags is not None and set(self.tags).isdisjoint(tags):
            return f"this caller has a right to tools tagged {', '.join(self.tags)} only"
        return ""


EVERYTHING = Rights()


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

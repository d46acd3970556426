"""What becomes of latent findings: whether another server has the tool that they are about.

Depends on who else is there, so it is never kept. It only looks names up, and loads nothing of the rest of the scanner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from toolcrib.model.finding import Finding, bare_name


@dataclass(frozen=True)
class KnownNames:
    """Which servers have a tool of which name, in its bare form."""

    servers: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, tools: Mapping[str, Iterable[str]]) -> KnownNames:
        """From the names of the tools of each server."""
        servers: dict[str, set[str]] = {}
        for server, names in tools.items():
            for name in names:
                servers.setdefault(bare_name(name), set()).add(server)
        return cls({name: frozenset(having) for name, having in servers.items()})

    def others_with(self, name: str, server: str) -> frozenset[str]:
        """The other servers that have a tool of this name; none where `server` has one itself."""
        having = self.servers.get(name, frozenset())
        return frozenset() if server in having else having


def beside(server: str, findings: Iterable[Finding], names: Callable[[], KnownNames]) -> Iterator[Finding]:
    """The findings of a definition of `server`, with those latent ones that have become hard.

    `names` is asked only where there are latent ones, which is seldom.
    """
    for finding in findings:
        if not finding.is_latent:
            yield finding
        elif _counts(finding, names().others_with(finding.about, server)):
            yield replace(finding, level="hard")


def _counts(finding: Finding, others: frozenset[str]) -> bool:
    # A name that several servers have is an everyday one: nobody in particular is meant.
    return bool(others) if finding.rule == "impersonation" else len(others) == 1

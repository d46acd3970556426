"""Which of the recorded calls somebody wants to see."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from toolcrib.calls.audit_log import AuditRecord


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Names or globs of server, tool (`server:tool` too) and client; an empty one lets everything pass."""

    server: str = ""
    tool: str = ""
    client: str = ""
    only_failed: bool = False
    since: float = 0.0

    def __call__(self, record: AuditRecord) -> bool:
        return (
            record.is_call
            and record.time >= self.since
            and (record.failed or not self.only_failed)
            and self.takes_names(record.server, record.tool, record.caller)
        )

    def takes_names(self, server: str, tool: str, client: str) -> bool:
        """Whether somebody wants to see calls of this tool by this client."""
        return _fits(self.server, server) and _fits(self.tool, tool, f"{server}:{tool}") and _fits(self.client, client)


def _fits(pattern: str, *names: str) -> bool:
    return not pattern or any(fnmatchcase(name, pattern) for name in names)

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
            and _fits(self.server, record.server)
            and _fits(self.tool, record.tool, f"{record.server}:{record.tool}")
            and _fits(self.client, record.caller)
        )


def _fits(pattern: str, *names: str) -> bool:
    return not pattern or any(fnmatchcase(name, pattern) for name in names)

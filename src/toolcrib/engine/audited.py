"""What becomes of requests and definitions, as lines of the audit log."""

from __future__ import annotations

from toolcrib.approvals.events import Event, Tell
from toolcrib.calls.audit_log import AuditLog, AuditRecord


def audited(audit: AuditLog, face: str) -> Tell:
    """Events as lines of the audit log."""

    def tell(event: Event) -> None:
        audit.append(
            AuditRecord(
                time=event.at,
                caller=event.by,
                face=face,
                server=event.server,
                tool=event.subject,
                argument_names=(),
                outcome=event.what,
                duration_ms=0.0,
                argument_bytes=0,
                result_bytes=0,
                reason=event.reason,
            )
        )

    return tell

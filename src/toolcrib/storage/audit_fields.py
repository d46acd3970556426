"""A record of the audit log as members of JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256

import msgspec

from toolcrib.calls.audit_log import MOST_ARGUMENT_NAMES, AuditRecord
from toolcrib.masking.texts import mask_text

_MAX_CHARACTERS = 128
# The one control character that JSON leaves as it is.
_DELETE = (b"\x7f", b"\\u007f")


def fields_of(record: AuditRecord, unrecorded: int = 0) -> bytes:
    """The members of a record in JSON, without the braces around them."""
    fields: dict[str, object] = {
        "time": datetime.fromtimestamp(record.time, UTC).isoformat(timespec="milliseconds"),
        "caller": _shown(record.caller),
        "face": _shown(record.face),
        "server": _shown(record.server),
        "tool": _shown(record.tool),
        "argumentNames": [_shown(name) for name in record.argument_names[:MOST_ARGUMENT_NAMES]],
        "outcome": _shown(record.outcome),
        "durationMs": round(record.duration_ms, 3),
        "argumentBytes": record.argument_bytes,
        "resultBytes": record.result_bytes,
    }
    if record.questions:
        fields["questions"] = record.questions
    if record.effect:
        fields["effect"] = record.effect
    if record.decision:
        fields["decision"] = record.decision
    if record.rights:
        fields["rights"] = _shown(record.rights)
    if record.fingerprint:
        fields["fingerprint"] = record.fingerprint
    if record.findings:
        fields["findings"] = _shown(record.findings)
    if record.reason:
        fields["reason"] = _shown(record.reason)
    if unrecorded:
        fields["unrecorded"] = unrecorded
    return _ascii(fields)[1:-1]


def _ascii(fields: dict[str, object]) -> bytes:
    """Plain ASCII: no character of a name can end a line in any reader, or steer a terminal that shows it."""
    text = msgspec.json.encode(fields)
    if text.isascii():
        return text.replace(*_DELETE)
    # Three times slower, but it escapes everything; few names need that.
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode("ascii").replace(*_DELETE)


@lru_cache(maxsize=1024)  # the same names come with every call
def _shown(text: str) -> str:
    # Masked before it is cut: half a secret is not recognised any more.
    # Half a character is written out: a line that holds one is no JSON for many readers, and so no link of the chain.
    shown = mask_text(text[: 8 * _MAX_CHARACTERS]).encode(errors="backslashreplace").decode()
    if len(shown) <= _MAX_CHARACTERS and len(text) <= 8 * _MAX_CHARACTERS:
        return shown
    # Names that begin alike are still told apart.
    ending = f"…sha256:{sha256(text.encode(errors='surrogatepass')).hexdigest()[:16]}"
    return shown[: _MAX_CHARACTERS - len(ending)] + ending

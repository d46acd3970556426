"""A gateway's worth of audit records, run as a process of its own by the tests."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from toolcrib.calls.audit_log import AuditRecord
from toolcrib.storage.audit_file import AuditFile

with suppress(ImportError):
    import resource  # there is none on Windows; the test that fills the disk is not run there


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


path, owner, rounds, max_bytes, files, file_limit = Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:7])
if file_limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, resource.RLIM_INFINITY))

say("ready")
sys.stdin.readline()

troubles: list[str] = []
audit = AuditFile(path, max_bytes=max_bytes, files=files, on_trouble=troubles.append)
for number in range(rounds):
    audit.append(AuditRecord(1000.0, owner, "stdio", "files", str(number), ("path",), "OK", 1.0, 10, 20))
if file_limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    audit.append(AuditRecord(1000.0, owner, "stdio", "files", "after", ("path",), "OK", 1.0, 10, 20))
for line in ("troubles", len(troubles), *troubles):
    say(line)

"""Exit codes, as the specification of each command gives them."""

from __future__ import annotations

OK = 0
USAGE = 1
CONFIGURATION = 2
NOT_FOUND = 2
FAILED = 3
DISABLED = 4
INTERRUPTED = 130
PIPE_CLOSED = 141

"""All signals, in the order in which they are looked for."""

from __future__ import annotations

from toolcrib.scanner.authority import AUTHORITY
from toolcrib.scanner.force import FORCE
from toolcrib.scanner.secrecy import SECRECY
from toolcrib.scanner.takings import TAKINGS
from toolcrib.scanner.ways_out import WAYS_OUT

SIGNALS = (*AUTHORITY, *SECRECY, *TAKINGS, *WAYS_OUT, *FORCE)
# These say nothing of their own: they stand in the descriptions of good tools as well.
ALONE_NOTHING = frozenset({"secret", "hands", "into", "away", "always", "orders", "quietly", "verbatim"})
# These name things; nobody is told to do something with them.
NO_ORDER = frozenset({"secret", "place", "environment", "talk", "away", "into", "surroundings"})
# Those that ask a model for something that it should not give, where they stand in words about a parameter.
ASKED_FOR = frozenset({"talk", "place", "environment"})

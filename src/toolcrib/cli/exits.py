"""Exit codes, the same for every command."""

from __future__ import annotations

from typing import Final

OK: Final = 0
USAGE: Final = 1
CONFIGURATION: Final = 2
INTERRUPTED: Final = 130

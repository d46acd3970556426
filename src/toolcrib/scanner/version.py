"""Which rules the scanner has; known without loading them."""

from __future__ import annotations

from typing import Final

# Grows with each change of the rules: what another version found is not taken over.
VERSION: Final = 3

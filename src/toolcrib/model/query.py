"""What a search query may be."""

from __future__ import annotations

# The search reads no more of a query than this, so no setting allows more either.
MAX_QUERY_CHARACTERS = 4_096

"""What the results of a tool looked like: names and types, never what was in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

ShapeOrigin = Literal["calls", "introspection", "declared"]


@dataclass(frozen=True, slots=True)
class LearntShape:
    """The shape of a tool's results as a JSON Schema; `tool` is its name on the server launched so.

    It belongs to one definition (`fingerprint`). `drift` says where a later result did not fit. With the origin
    `declared` the schema is the definition's own and is not repeated here; only `drift` tells something.
    """

    launch_key: str
    tool: str
    fingerprint: str
    schema: Mapping[str, Any]
    samples: int = 1
    origin: ShapeOrigin = "calls"
    drift: str = ""
    learnt_at: float = 0.0

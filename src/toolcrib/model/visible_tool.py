"""A tool as callers meet it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toolcrib.model.availability import ENABLED, Availability
from toolcrib.model.effect import Effect
from toolcrib.model.server import ServerSpec
from toolcrib.model.tool import Tool


@dataclass(frozen=True, slots=True)
class VisibleTool:
    """A tool under its public name, whether it may be used, and its tags; `spec` is None for a built-in one."""

    tool: Tool
    upstream_name: str
    availability: Availability = ENABLED
    tags: tuple[str, ...] = ()
    spec: ServerSpec | None = None
    # Whether a person confirms each call, where a rule says so.
    confirm: bool | None = None

    @property
    def enabled(self) -> bool:
        return self.availability.is_callable

    @property
    def effect(self) -> Effect:
        """What a call of it may do."""
        return self.tool.effect

    @property
    def is_fallback(self) -> bool:
        return self.availability.state == "fallback"


def reference(visible: VisibleTool) -> Mapping[str, str]:
    """How its server is told which prompt or template is meant."""
    if visible.tool.kind == "prompt":
        return {"type": "ref/prompt", "name": visible.upstream_name}
    return {"type": "ref/resource", "uri": visible.upstream_name}


VisibleTools = Mapping[str, VisibleTool]

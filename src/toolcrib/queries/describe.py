"""What one tool does and takes, for whoever asks."""

from __future__ import annotations

from toolcrib.model.learnt import LearntShape
from toolcrib.model.view import ToolDetails
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.schema.details import describe


def details_view(visible: VisibleTool, learnt: LearntShape | None = None) -> ToolDetails:
    """All that is known of a tool; `learnt` is what its results looked like so far."""
    reason = "" if visible.enabled else visible.availability.reason
    return describe(visible.tool, enabled=visible.enabled, tags=visible.tags, learnt=learnt, reason=reason)

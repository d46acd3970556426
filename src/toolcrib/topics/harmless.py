"""Which tools may be called only to see what they return: those that change nothing."""

from __future__ import annotations

from toolcrib.model.tool import Tool
from toolcrib.model.verbs import name_refusal


def refusal(tool: Tool) -> str:
    """Why a tool must not be called just to look at its answer; empty where it may.

    What the server says of the tool counts first; without a word from it, only a name that says "read" will do.
    """
    hints = tool.annotations
    if hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True:
        return "its server marks it as destructive"
    if hints.get("destructiveHint") is True:
        return "its server marks it as both read-only and destructive"
    if hints.get("readOnlyHint") is False:
        return "its server says that it changes things"
    return "" if hints.get("readOnlyHint") is True else name_refusal(tool.name)

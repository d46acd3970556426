"""Which tools may be called only to see what they return: those that change nothing."""

from __future__ import annotations

from toolcrib.model.effect import says_it_destroys
from toolcrib.model.tool import Tool
from toolcrib.model.verbs import name_refusal


def refusal(tool: Tool) -> str:
    """Why a tool must not be called just to look at its answer; empty where it may.

    What the server says of the tool counts first; without a word from it, only a name that says "read" will do.
    """
    hints = tool.annotations
    reads = hints.get("readOnlyHint")
    if says_it_destroys(hints):
        also = "both read-only and " if reads is True else ""
        return f"its server marks it as {also}destructive"
    if reads is False:
        return "its server says that it changes things"
    if reads is not None and reads is not True:
        return "its server does not say clearly whether it changes things"
    return "" if reads is True else name_refusal(tool.name)

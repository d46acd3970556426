"""Which tools may be called only to see what they return: those that change nothing."""

from __future__ import annotations

import re

from toolcrib.model.tool import Tool
from toolcrib.topics.domains import snake_case

READING_VERBS = frozenset("list get read fetch search find describe show count view query check stat exists".split())
# Words that mean a change wherever they stand in a name. Words that are as often things (commit, tag, release, comment)
# are not among them: a name that begins with one is refused anyway.
CHANGING_VERBS = frozenset(
    """
    abort accept ack activate add allow append apply approve archive assign attach ban block book build buy cancel charge
    clean clear click close configure copy create deactivate decline decrement delete deny deploy destroy detach disable
    dismiss drop edit email enable enqueue erase exec execute force grant import increment insert install invite invoke
    join kick kill launch leave lock login logout make mark merge mkdir modify move mute notify open overwrite patch pay
    pin post press promote provision publish purchase purge push put rebuild refund register reject remove rename
    replace reply resend reset resize resolve restart restore resume retry revert revoke rm rollback rotate run save
    schedule seed send set share shutdown start stop store submit subscribe suspend sync terminate toggle touch transfer
    trigger truncate type unassign unban unblock uninstall unlock unpin unsubscribe unset update upgrade upload upsert
    vote wipe write
    """.split()
)
# To check in, out or off is no checking.
_CHECKING = frozenset({"in", "out", "off"})


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


def name_refusal(name: str) -> str:
    """The same told by the name alone."""
    first, *others = re.split(r"[_\d]+", snake_case(name))
    if first not in READING_VERBS:
        return "its name does not say that it only reads"
    changing = next((word for at, word in enumerate(others) if _changes(word, first, is_object=at == 0)), "")
    return f"its name says that it may change things ({changing})" if changing else ""


def _changes(word: str, first: str, *, is_object: bool) -> bool:
    """Whether a word after the first means a change; `list_updates` only lists, `find_and_updates` does not."""
    if first == "check" and word in _CHECKING:
        return True
    verb = word.removesuffix("all")
    return (
        word in CHANGING_VERBS or verb in CHANGING_VERBS or (not is_object and word.removesuffix("s") in CHANGING_VERBS)
    )

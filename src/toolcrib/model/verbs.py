"""What the verbs in a tool's name say that it does."""

from __future__ import annotations

import re

from toolcrib.model.snake_case import snake_case

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
# Of these, what takes something away for good. `clear`, `format` and the like are as often harmless.
DESTROYING_VERBS = frozenset(
    """
    del delete destroy drop erase expunge force kill nuke overwrite prune purge remove reset revoke rm rmdir shred terminate
    truncate uninstall unlink wipe
    """.split()
)
# The same where a name begins with them; further on they are things as often (`list_trash`, `find_empty_rooms`).
_DESTROYING_FIRST = DESTROYING_VERBS | frozenset("discard empty flush flushdb trash".split())
# To check in, out or off is no checking.
_CHECKING = frozenset({"in", "out", "off"})
# What is sent to a database may as well be a DROP TABLE.
_DATABASES = frozenset({"sql", "db", "database"})


def destroys(name: str) -> bool:
    """Whether a name begins by saying that something is taken away for good."""
    return _words(name)[0].removesuffix("all") in _DESTROYING_FIRST


def may_destroy(name: str) -> bool:
    """Whether a name says so anywhere."""
    return any(map(_destroys, _words(name)))


def without_server(name: str, server: str) -> str:
    """A tool's name without that of its server in front: `github_get_issue` on `github` is `get_issue`."""
    first, *others = _words(name)
    # A server that is called `delete` makes no tool milder.
    is_servers = first in _words(server) and first not in CHANGING_VERBS | _DESTROYING_FIRST
    return "_".join(others) if others and is_servers else name


def name_refusal(name: str) -> str:
    """Why a tool of this name may change something; empty where the name says that it only reads."""
    first, *others = _words(name)
    if first not in READING_VERBS or (first == "query" and (not others or others[0] in _DATABASES)):
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


def _destroys(word: str) -> bool:
    return word.removesuffix("all") in DESTROYING_VERBS


def _words(name: str) -> list[str]:
    return re.split(r"[_\d]+", snake_case(name))

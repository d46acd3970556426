"""What is printed when something fails that nobody caught: where, and without any secret."""

from __future__ import annotations

import sys
import threading
import traceback
from types import TracebackType

from toolcrib.masking.redactor import REDACTOR
from toolcrib.model.clean_text import clean_lines

_MOST_CHARACTERS = 20_000
_MOST_LOOKED_AT = 1_000_000


def cover_crashes() -> None:
    """From now on no traceback of this process shows a secret, on whichever thread it happens.

    A hook that somebody else has set stays: it belongs to the program that we are a part of.
    """
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _uncaught
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _uncaught_in_thread
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _unraisable


def _uncaught(_: type[BaseException], error: BaseException, place: TracebackType | None) -> None:
    _print("", error, place)


def _uncaught_in_thread(happened: threading.ExceptHookArgs) -> None:
    if happened.exc_value is None or issubclass(happened.exc_type, SystemExit):
        return
    name = happened.thread.name if happened.thread is not None else "a thread"
    _print(f"in {name}: ", happened.exc_value, happened.exc_traceback)


def _unraisable(happened: sys.UnraisableHookArgs) -> None:
    # What it happened in is left out: its repr may be anything.
    if happened.exc_value is not None:
        _print(f"{happened.err_msg or 'ignored'}: ", happened.exc_value, happened.exc_traceback)


def _print(lead: str, error: BaseException, place: TracebackType | None) -> None:
    if sys.stderr is None:
        return
    text = lead + "".join(traceback.format_exception(type(error), error, place))
    # Cleaned before it is masked: a code in the middle of a secret would hide it. And masked before it is cut: half a secret
    # is not recognised any more.
    shown = REDACTOR(clean_lines(text[-_MOST_LOOKED_AT:].rstrip()))
    sys.stderr.write(shown[-_MOST_CHARACTERS:] + "\n")
    sys.stderr.flush()

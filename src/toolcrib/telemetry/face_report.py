"""What is told of a face that is opened and closed while the process runs: where it is, and why it can't be."""

from __future__ import annotations

import logging
from collections.abc import Callable

from toolcrib.errors import ToolcribError


class FaceReport:
    """Says each thing once, in these words."""

    def __init__(
        self, log: logging.Logger, *, opened: str, closed: str, failed: str, when_changed: Callable[[], None]
    ) -> None:
        self._log = log
        self._opened = opened
        self._closed = closed
        self._failed = failed
        self._when_changed = when_changed
        self._complaint = ""
        # Where the face is; empty while it is not.
        self.address = ""

    def is_at(self, address: str) -> None:
        if address:
            self._log.info("%s %s", self._opened, address)
            self._complaint = ""
        elif self.address:
            self._log.info("%s", self._closed)
        self.address = address
        self._when_changed()

    def complain(self, problem: BaseException | None, retry_seconds: float) -> None:
        """Say why it can't be opened, however often that is tried."""
        if problem is None:
            return
        reason = problem.message if isinstance(problem, ToolcribError) else repr(problem)
        if reason != self._complaint:
            self._log.warning("%s; it is tried again every %g s: %s", self._failed, retry_seconds, reason)
        self._complaint = reason

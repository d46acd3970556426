"""The one client that a connection of its own is for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from toolcrib.model.asking import Conversation

NO_FOLDERS = b'{"roots":[]}'
ROOTS_LIST = "roots/list"


class Household:
    """Who may be asked while no call runs, and the folders that the client has told last.

    While the server is being started for a call, its client is asked anything. At other times only for its folders, which
    a server looks at again when it hears that they changed. A client that takes input rounds is not asked for them outside
    of its calls: what it said before holds.
    """

    def __init__(self) -> None:
        self._starting: Conversation | None = None
        self._latest: Conversation | None = None
        self.folders = NO_FOLDERS

    @contextmanager
    def visited(self, client: Conversation | None) -> Iterator[None]:
        """A call of this client needs the server."""
        is_first = self._starting is None
        if is_first:
            self._starting = client
        self._latest = client
        try:
            yield
        finally:
            if is_first:
                self._starting = None

    def asked(self, method: str) -> Conversation | None:
        """Whoever answers a question that belongs to no call."""
        client = self._latest if method == ROOTS_LIST else self._starting
        return None if client is not None and client.takes_rounds and method == ROOTS_LIST else client

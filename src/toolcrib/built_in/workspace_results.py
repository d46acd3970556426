"""The large results of one workspace, kept among those of all."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib.built_in.result_store import ResultStore


class WorkspaceResults:
    """A store whose handles are good in the workspace they were given in, and for the caller they were given to."""

    def __init__(self, store: ResultStore, workspace: Callable[[], str]) -> None:
        self._store = store
        self._workspace = workspace

    def put(self, caller_key: str, data: bytes) -> str:
        return self._store.put(self._key(caller_key), data)

    def get(self, caller_key: str, handle: str) -> bytes:
        return self._store.get(self._key(caller_key), handle)

    def _key(self, caller_key: str) -> str:
        return f"{self._workspace()}:{caller_key}"

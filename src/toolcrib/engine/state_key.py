"""The key with which states that clients bring back are sealed."""

from __future__ import annotations

import logging
import secrets
from pathlib import Path

from toolcrib.storage.kept_secret import kept_secret

log = logging.getLogger(__name__)


class StateKey:
    """Kept in a file, so that a state outlives the process that sealed it; read when it is first needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key = b""

    def __call__(self) -> bytes:
        if not self._key:
            self._key = self._kept().encode()
        return self._key

    def _kept(self) -> str:
        try:
            return kept_secret(self._path)
        except (OSError, UnicodeDecodeError) as problem:
            log.warning(
                "%s can't be kept (%s): questions that are open when this process ends are lost", self._path, problem
            )
            return secrets.token_urlsafe(32)

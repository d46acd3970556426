"""Files of ours that are made on first need, whole and once, and that only their owner can read."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def make_once(path: Path, content: bytes) -> None:
    """Make the file, unless there is one: of two processes that come at the same time, the content of one is kept."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        # A link appears with its whole content and never over another file.
        with suppress(OSError):
            os.link(draft, path)
        if not path.exists() or not path.read_bytes().strip():  # a disk without links, or a file that holds nothing
            os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)

"""A random text in a file that only its owner can read, made on first need."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def kept_secret(path: Path) -> str:
    """The text in the file; of several processes that make it at once, all get the same. Raises OSError, UnicodeDecodeError."""
    return _kept(path) or _new(path)


def _kept(path: Path) -> str:
    try:
        kept = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""
    path.chmod(0o600)
    return kept


def _new(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        # A link appears with its whole content and never over another: of two gateways, one secret is kept.
        with suppress(OSError):
            os.link(draft, path)
        if not _kept(path):
            os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return _kept(path)

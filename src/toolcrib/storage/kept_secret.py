"""A random text in a file that only its owner can read, made on first need."""

from __future__ import annotations

import secrets
from pathlib import Path

from toolcrib.files.made_once import make_once


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
    make_once(path, f"{secrets.token_urlsafe(32)}\n".encode())
    return _kept(path)

"""What an edit gives is read with the reader of configurations too, which takes less than the editor does."""

from __future__ import annotations

from pathlib import Path

from toolcrib.config.documents import parse_document
from toolcrib.edit.changes import EditRefused
from toolcrib.errors import ConfigurationError


def checked(content: bytes, path: Path) -> bytes:
    """The bytes, if they can be read as what the file is; EditRefused otherwise."""
    try:
        parse_document(content, path)
    except ConfigurationError as error:
        raise EditRefused(f"it could not be read afterwards: {error.problems[0].message}") from None
    return content

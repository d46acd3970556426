"""Edited files, read by the readers of configurations: not by the code that wrote them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolcrib.config.documents import parse_document


def parsed(content: bytes, language: str) -> Any:
    return parse_document(content, Path(f"edited.{language}"))

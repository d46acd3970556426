"""Tables in docs/protocol.md that tests write: what the page says is what the last run saw."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from toolcrib.storage.file_lock import file_lock

PAGE = Path(__file__).resolve().parents[1] / "docs" / "protocol.md"
WAIT_SECONDS = 20.0


def rows_differ(mark: str, rows: Sequence[str]) -> list[str]:
    """Write rows into the table between the marks, each in place of the one with the same first cell; those that were new.

    Several tests may write into one table, at once.
    """
    with file_lock(
        Path(tempfile.gettempdir()) / "toolcrib-tests-protocol-page.lock", wait_seconds=WAIT_SECONDS
    ) as is_ours:
        assert is_ours
        page = PAGE.read_text(encoding="utf-8")
        before, start, rest = page.partition(f"<!-- {mark}: written by a test -->\n")
        table, end, after = rest.partition("<!-- end -->\n")
        assert start, f"docs/protocol.md has no place for {mark}"
        lines = table.splitlines()
        fresh = [row for row in rows if row not in lines]
        if fresh:
            written = {_first(row): row for row in [*lines, *fresh]}
            PAGE.write_text(before + start + "\n".join(written.values()) + "\n" + end + after, encoding="utf-8")
        return fresh


def _first(row: str) -> str:
    return row.split("|")[1].strip()

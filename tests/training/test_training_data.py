"""The data that the search model is trained on, as its scripts read it."""

from __future__ import annotations

import re
from pathlib import Path

from training.corpus import OWN_INTENTS, OWN_TOOLS, read_rows

TRAINING = Path(__file__).resolve().parents[2] / "training"
README = (TRAINING / "README.md").read_text(encoding="utf-8")


def said(pattern: str) -> int:
    """A number of the page."""
    (found,) = re.findall(pattern, README)
    return int(found.replace(",", ""))


def test_the_tools_that_we_wrote_are_as_many_as_the_page_says() -> None:
    rows = list(read_rows(OWN_TOOLS))
    tools = [row for row in rows if "name" in row]

    assert len(tools) == said(r"([\d,]+) of [\d,]+ servers that we wrote")
    assert len({row["server"] for row in tools}) == said(r"[\d,]+ of ([\d,]+) servers that we wrote")
    assert sum(len(row["q"]) for row in tools) == said(r"And the ([\d,]+) and [\d,]+ for the tools above")
    assert len(rows) - len(tools) == said(r"and ([\d,]+) tasks that need several of them")


def test_the_queries_that_we_wrote_are_as_many_as_the_page_says() -> None:
    _, written = (sum(len(row["q"]) for row in read_rows(path)) for path in OWN_INTENTS)

    assert written == said(r"([\d,]+) more of our own")


def test_the_data_is_kept_compressed() -> None:
    assert list(TRAINING.glob("*.jsonl")) == []
    assert sum(file.stat().st_size for file in TRAINING.glob("*.xz")) < 2_500_000

"""docs/types.md shows what really comes out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from toolcrib.rtfs.published_form import published_form
from toolcrib.rtfs.write_type import rtfs_text
from toolcrib.schema.convert import convert
from toolcrib.schema.signature import short_type

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "types.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (?:`(.+?)` )?\| `(.+?)` \|$", PAGE, re.MULTILINE)


def test_the_table_is_found() -> None:
    assert len(ROWS) >= 20


@pytest.mark.parametrize(("schema", "published", "exact", "line"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_of_the_table_holds(schema: str, published: str, exact: str, line: str) -> None:
    found = convert(json.loads(schema)).type
    assert rtfs_text(published_form(found)) == published
    assert rtfs_text(found) == (exact or published)
    assert short_type(found) == line.replace("\\|", "|")

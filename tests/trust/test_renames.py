"""Which new definition is one that is gone, under another name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.processor_time import within
from toolcrib.model.pin import Pin, PinKey, PinnedKind
from toolcrib.trust.canonical import canonical
from toolcrib.trust.renames import MOST_COMPARED, renamed

WORDS = "Copies one file to another place and says how large it is now."
SCHEMA = {"type": "object", "properties": {"from": {"type": "string"}}}
OLD = {"name": "copy", "description": WORDS, "inputSchema": SCHEMA}
OTHER = {"name": "other", "description": "Sends a mail.", "inputSchema": SCHEMA}


def pinned(*definitions: dict[str, Any]) -> list[Pin]:
    return [Pin("tool", one["name"], "", "", 0.0, canonical(one)) for one in definitions]


def former_name(kind: PinnedKind, now: dict[str, Any], *gone: dict[str, Any]) -> str:
    found = dict(renamed([((kind, "copy_file"), now)], pinned(*gone))).get((kind, "copy_file"))
    return "" if found is None else found.name


def test_a_renamed_tool_says_what_it_was() -> None:
    assert former_name("tool", {**OLD, "name": "copy_file"}, OTHER, OLD) == "copy"
    assert former_name("tool", {**OLD, "description": WORDS.replace("large", "long")}, OTHER, OLD) == "copy"
    assert former_name("prompt", {**OLD, "name": "copy_file"}, OTHER, OLD) == ""
    assert former_name("tool", {**OLD, "inputSchema": {}}, OTHER, OLD) == ""
    assert former_name("tool", {**OLD, "description": "Deletes all."}, OTHER, OLD) == ""


def test_of_two_that_are_as_much_alike_the_first_counts() -> None:
    assert former_name("tool", OLD, {**OLD, "name": "copy"}, {**OLD, "name": "copied"}) == "copy"
    assert former_name("tool", OLD, {**OLD, "name": "copied"}, {**OLD, "name": "copy"}) == "copied"


def test_a_long_description_is_known_again_when_it_is_the_same() -> None:
    long = {**OLD, "description": WORDS * 500}
    assert former_name("tool", long, OTHER, long) == "copy"
    assert former_name("tool", {**long, "description": WORDS * 499}, OTHER, long) == ""


@pytest.mark.parametrize(
    ("before", "now"),
    [("a b " * 6_000, "b b a a " * 3_000), ("a b " * 400, "b b a a " * 200), ("a " * 900, "a " * 899 + "b")],
    ids=["longest", "long", "one word"],
)
def test_no_texts_of_a_server_take_long_to_compare(before: str, now: str) -> None:
    gone = pinned(*({"name": f"old {number}", "description": f"{before}{number}"} for number in range(MOST_COMPARED)))
    new: list[tuple[PinKey, dict[str, Any]]] = [
        (("tool", f"new {number}"), {"description": f"{now}{number}"}) for number in range(20 * MOST_COMPARED)
    ]
    with within(2.0):
        list(renamed(new, gone))


def test_many_different_words_take_no_longer() -> None:
    words = [f"word{number}" for number in range(900)]
    gone = pinned(*({"name": f"old {number}", "description": " ".join(words)} for number in range(MOST_COMPARED)))
    new: list[tuple[PinKey, dict[str, Any]]] = [
        (("tool", f"new {number}"), {"description": " ".join([*words[1:], str(number)])})
        for number in range(MOST_COMPARED)
    ]
    with within(2.0):
        assert len(dict(renamed(new, gone))) == MOST_COMPARED

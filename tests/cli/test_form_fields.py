"""What a person writes into a field of a form."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib.cli.form_fields import NotAnAnswer, choices_of, label_of, value_of

ASKED = {"type": "string", "enum": ["once", "no"]}
COLOURS = {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]}


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("Ann", {"type": "string"}, "Ann"),
        ("7", {}, "7"),
        ("-7", {"type": "integer"}, -7),
        ("1.5", {"type": "number"}, 1.5),
        ("Y", {"type": "boolean"}, True),
        ("false", {"type": "boolean"}, False),
        ("1", COLOURS, "r"),
        ("Green", COLOURS, "g"),
        ("g", COLOURS, "g"),
        ("2", {"enum": [10, 20]}, 20),
        ("y", ASKED, "once"),
        ("N", ASKED, "no"),
        ("Yes", {"enum": [1, 2], "enumNames": ["Yes", "No"]}, 1),
        ("n", {"enum": ["once", "in this session", "no"]}, "no"),
        ("1, g,", {"type": "array", "items": COLOURS}, ["r", "g"]),
        ("B", {"type": "array", "items": {"anyOf": [{"const": "b", "title": "B"}]}}, ["b"]),
        ("5", {"type": "integer", "minimum": "odd", "maximum": True}, 5),
    ],
)
def test_words_become_the_value_that_they_stand_for(text: str, schema: dict[str, Any], value: Any) -> None:
    given = value_of(text, schema)
    assert (given, type(given)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("1.5", {"type": "integer"}),
        ("nan", {"type": "number"}),
        ("inf", {"type": "number"}),
        ("3", {"type": "integer", "maximum": 2}),
        ("1", {"type": "number", "minimum": 2}),
        ("perhaps", {"type": "boolean"}),
        ("3", COLOURS),
        ("y", COLOURS),
        ("y", {"enum": ["once", "in this session", "no"]}),
        ("y", {"enum": ["no", "false"]}),
        ("Blue", {"type": "array", "items": COLOURS}),
        ("A", {"type": "string", "minLength": 2}),
        ("ABC", {"type": "string", "maxLength": 2}),
    ],
)
def test_words_that_do_not_fit_are_refused_with_what_to_write(text: str, schema: dict[str, Any]) -> None:
    with pytest.raises(NotAnAnswer) as refused:
        value_of(text, schema)
    assert str(refused.value).endswith(".")


def test_nothing_that_a_server_writes_into_a_form_steers_the_terminal() -> None:
    evil = "a\x1b[2Jb\nc"
    schema = {"type": "string", "title": evil, "description": evil, "default": evil, "oneOf": [{"const": evil}]}
    shown = label_of(evil, schema, required=False) + "".join(name for _, name in choices_of(schema))
    assert "\x1b" not in shown
    assert "\n" not in shown

from __future__ import annotations

import re
from pathlib import Path

import pytest

from toolcrib.config import reference
from toolcrib.config.settings import SCALARS

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda scalar: scalar.key)
def test_every_setting_is_documented_in_its_own_words(scalar):
    text = DOCS.read_text(encoding="utf-8")
    for part in (f"`{scalar.key}`", f"`{scalar.variable}`", scalar.description):
        assert part in text


@pytest.mark.parametrize(
    "render",
    [
        reference.settings_table,
        reference.entry_table,
        reference.sign_in_table,
        reference.sandbox_table,
        reference.rule_table,
        reference.profile_table,
        reference.introspection_table,
        reference.source_formats,
    ],
)
def test_the_tables_of_the_docs_are_those_of_the_code(render):
    assert render() in DOCS.read_text(encoding="utf-8"), (
        "run `python -m toolcrib.config.reference` and paste its tables"
    )


def test_every_example_of_the_docs_loads_without_a_remark(machine):
    examples = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 7
    for index, example in enumerate(examples):
        settings = machine.load_text(example, f"example{index}.yaml")
        assert settings.problems == ()
        assert settings.warnings == ()


def test_the_reference_can_be_printed(capsys):
    reference.main()
    assert reference.settings_table() in capsys.readouterr().out

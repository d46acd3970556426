"""Rules about prompts and resources, whose names begin with what they are."""

from __future__ import annotations

import pytest

from toolcrib.model.tool_rule import ToolRule
from toolcrib.rules.rulebook import RuleBook


@pytest.mark.parametrize(
    ("pattern", "name", "is_about"),
    [
        ("prompt:*", "prompt:review", True),
        ("prompt:*", "resource:file:///a", False),
        ("github:*", "prompt:review", True),
        ("github:prompt:*", "prompt:review", True),
        ("other:*", "prompt:review", False),
        ("*review*", "prompt:review", True),
        ("/^prompt:rev/", "prompt:review", True),
        ("resource:db://{table}", "resource:db://{table}", True),
        ("resource:db://*", "resource:db://{table}", True),
    ],
)
def test_a_pattern_is_compared_with_the_name_of_an_item(pattern: str, name: str, *, is_about: bool) -> None:
    rules = RuleBook([ToolRule((pattern,), enabled=False)])

    assert rules.decide("github", name, is_item=True).enabled is not is_about


@pytest.mark.parametrize(
    ("pattern", "name", "is_open"),
    [
        ("*", "resource:file:///etc/passwd", True),
        ("github:*", "resource:file:///etc/passwd", True),
        ("resource:file:*", "resource:file:///etc/passwd", True),
        ("Prompt:*", "prompt:review", True),
        ("/^(prompt|resource):/", "prompt:review", True),
        ("*passwd", "resource:file:///etc/passwd", True),
        ("github:review", "prompt:review", True),
        ("*source*", "resource:file:///etc/passwd", False),
        ("/source/", "resource:file:///etc/passwd", False),
        ("github:*source*", "resource:file:///etc/passwd", False),
        ("github:*resource*", "resource:file:///etc/passwd", False),
        ("/^github:.*resource/", "resource:file:///etc/passwd", False),
        ("{prompt,resource}:*", "prompt:review", True),
        ("github:resource:*", "resource:file:///etc/passwd", True),
        ("prompt*", "prompt:review", False),
    ],
)
def test_a_word_that_is_in_the_kind_alone_opens_nothing(pattern: str, name: str, *, is_open: bool) -> None:
    rules = RuleBook([ToolRule((pattern,), enabled=True)])

    assert rules.decide("github", name, is_item=True).enabled is is_open


@pytest.mark.parametrize("pattern", ["resource*", "*passwd", "github:*passwd", "/resource/"])
def test_what_keeps_away_is_compared_with_and_without_the_kind(pattern: str) -> None:
    rules = RuleBook([ToolRule((pattern,), enabled=False)])

    assert not rules.decide("github", "resource:file:///etc/passwd", is_item=True).enabled


def test_a_tool_does_not_pass_for_a_prompt_by_its_name() -> None:
    rules = RuleBook([ToolRule(("prompt:*",), enabled=True)])

    assert rules.decide("evil", "prompt:review", is_item=True).enabled
    assert not rules.decide("evil", "prompt:review").enabled


def test_a_rule_about_prompts_is_not_called_idle() -> None:
    rules = RuleBook([ToolRule(("prompt:*",), enabled=False), ToolRule(("resource:*",), enabled=False)])

    (warning,) = rules.check([("github", "read"), ("github", "prompt:review")])
    assert "resource:*" in warning

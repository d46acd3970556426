from __future__ import annotations

import pytest

from toolcrib.config.diagnostics import Findings
from toolcrib.config.tool_rules import read_tool_rules
from toolcrib.model.tool_rule import ToolRule


def read(value):
    findings = Findings()
    return read_tool_rules(value, "toolRules", "f", findings), findings


def test_rules_are_read_in_their_order():
    rules, findings = read(
        [
            {"pattern": ["*a*", "!b", "/c/i"], "server": "s*", "enabled": False, "tags": ["x", "y"]},
            {"pattern": "one"},
            {"pattern": ["two"], "enabled": None, "server": None, "tags": None},
        ]
    )
    assert findings.fatal == []
    assert rules == (
        ToolRule(("*a*", "!b", "/c/i"), "s*", False, ("x", "y")),
        ToolRule(("one",)),
        ToolRule(("two",)),
    )


def test_no_rules_are_fine():
    assert read(None) == ((), Findings())
    assert read([]) == ((), Findings())


@pytest.mark.parametrize(
    ("rule", "where"),
    [
        ({}, "toolRules[0].pattern"),
        ({"pattern": []}, "toolRules[0].pattern"),
        ({"pattern": ""}, "toolRules[0].pattern"),
        ({"pattern": ["a", "!"]}, "toolRules[0].pattern[1]"),
        ({"pattern": [5]}, "toolRules[0].pattern"),
        ({"pattern": {"a": 1}}, "toolRules[0].pattern"),
        ({"pattern": ["a"], "enabled": "no"}, "toolRules[0].enabled"),
        ({"pattern": ["a"], "server": ["s"]}, "toolRules[0].server"),
        ({"pattern": ["a"], "server": " "}, "toolRules[0].server"),
        ({"pattern": ["a"], "tags": [1]}, "toolRules[0].tags"),
        ({"pattern": ["a"], "tags": 1}, "toolRules[0].tags"),
        ({"pattern": ["a"], "enable": False}, "toolRules[0].enable"),
        ("*delete*", "toolRules[0]"),
    ],
)
def test_a_rule_that_cannot_be_read_refuses_the_file(rule, where):
    rules, findings = read([rule])
    assert rules == ()
    assert [problem.where for problem in findings.fatal] == [where]


def test_a_mistyped_key_names_the_right_one():
    _, findings = read([{"pattern": ["a"], "enable": False}])
    assert findings.fatal[0].message == "unknown key; did you mean 'enabled'?"


def test_rules_that_are_no_list_refuse_the_file():
    assert [problem.where for problem in read({"pattern": ["a"]})[1].fatal] == ["toolRules"]

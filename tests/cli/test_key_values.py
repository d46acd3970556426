"""`execute SERVER TOOL KEY=VALUE`: what is typed reaches the tool as its schema says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.machine import Machine


@pytest.fixture
def typed(machine: Machine) -> Machine:
    machine.workshop("typed")
    return machine


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["text=3"], {"text": "3"}),
        (["text=a=b c"], {"text": "a=b c"}),
        (["text="], {"text": ""}),
        (["text=@file", "note=null"], {"text": "@file", "note": "null"}),
        (["count=3"], {"count": 3}),
        (["count=1e3"], {"count": 1000}),
        (["share=0.5", "loud=true"], {"share": 0.5, "loud": True}),
        (["state=open"], {"state": "open"}),
        (["state=3"], {"state": 3}),
        (["limit=null"], {"limit": None}),
        (["limit=7"], {"limit": 7}),
        (["tags=a"], {"tags": ["a"]}),
        (["tags=a", "tags=b c", "tags=3"], {"tags": ["a", "b c", "3"]}),
        (['tags=["a", "b"]'], {"tags": ["a", "b"]}),
        (["sizes=1", "sizes=2"], {"sizes": [1, 2]}),
        (["sizes:=[1, 2]"], {"sizes": [1, 2]}),
        (["where.city=Bonn", "where.floor=-2"], {"where": {"city": "Bonn", "floor": -2}}),
        (["where.more.deep.down=1"], {"where": {"more": {"deep": {"down": 1}}}}),
        (['where={"city": "Bonn"}'], {"where": {"city": "Bonn"}}),
        (["dotted.name=x"], {"dotted.name": "x"}),
        (["labels.a.b=1"], {"labels": {"a.b": 1}}),
        (["anything=true"], {"anything": True}),
        (["anything=007"], {"anything": "007"}),
        (['anything="3"'], {"anything": "3"}),
        (["anything=x", "anything=y"], {"anything": ["x", "y"]}),
        (["anything:=[null, 1]"], {"anything": [None, 1]}),
        (
            ["where.city=Bonn", "--args", '{"count": 1, "where": {"floor": 2}}'],
            {"count": 1, "where": {"floor": 2, "city": "Bonn"}},
        ),
    ],
    ids=" ".join,
)
def test_words_become_arguments_of_the_type_the_tool_wants(
    words: list[str], arguments: dict[str, Any], typed: Machine
) -> None:
    ran = typed.run("execute", "typed", "book", *words, "--json")

    assert ran.code == 0, ran.out
    assert ran.json == {"success": True, "result": arguments}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["count=many"], "count: expected integer, found 'many'"),
        (["count=1.5"], "count: expected integer, found '1.5'"),
        (["count=1e999"], "count: expected integer, found '1e999'"),
        (["anything:=1e999"], "anything: expected JSON, found '1e999'"),
        (["share=NaN"], "share: expected number, found 'NaN'"),
        (["loud=yes"], "loud: expected boolean, found 'yes'"),
        (["state=opne"], 'state: expected "open"|"closed"|3, found \'opne\''),
        (["sizes=1", "sizes=two"], "sizes: expected integer, found 'two'"),
        (["count:=3,"], "count: expected JSON, found '3,'"),
        (["where=Bonn"], "where: expected {city?: string, floor?: integer, more?: any}, found 'Bonn'"),
        (["cuont=3"], "cuont: there is no such parameter; did you mean 'count'?"),
        (["siz=3"], "siz: there is no such parameter; did you mean 'sizes'?"),
        (["where.ctiy=Bonn"], "where.ctiy: there is no such parameter"),
        (["count=1", "count=2"], "count: it is given more than once, but is not a list"),
        (["count=1", "--args", '{"count": 2}'], "count: it is given more than once"),
        (["where.city=x", "--args", '{"where": 2}'], "where.city: where is already given as something other"),
        (["=3"], "expected KEY=VALUE, found '=3'"),
        (["count=-1"], "count: must be at least 0"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_word_that_does_not_fit_is_named_with_the_reason_and_nothing_is_run(
    words: list[str], said: str, typed: Machine
) -> None:
    ran = typed.run("execute", "typed", "book", *words, "--json")

    assert ran.code == 1
    assert ran.json["error"]["code"] == "TOOL_VALIDATION_ERROR"
    assert said in ran.json["error"]["message"]
    assert "KEY=VALUE" in ran.json["error"]["hint"]
    assert "toolcrib inspect typed book" in ran.json["error"]["hint"]


def test_every_word_that_does_not_fit_is_named_at_once(typed: Machine) -> None:
    ran = typed.run("execute", "typed", "book", "count=many", "cuont=3", "loud=no")

    assert ran.code == 1
    assert all(f"{key}: " in ran.out for key in ("count", "cuont", "loud"))


def test_a_value_without_a_key_is_answered_with_how_to_write_it(typed: Machine) -> None:
    ran = typed.run("execute", "typed", "needy", "Bonn")

    assert ran.code == 1
    assert "expected KEY=VALUE, found 'Bonn'; for example city=Bonn" in ran.out


def test_words_may_follow_a_server_and_tool_in_one_word_and_options_may_stand_anywhere(typed: Machine) -> None:
    ran = typed.run("execute", "--json", "typed:book", "count=3", "--stream", "text=x")

    assert ran.json == {"success": True, "result": {"count": 3, "text": "x"}}


def test_a_tool_that_takes_any_key_is_given_any_key(typed: Machine) -> None:
    ran = typed.run("execute", "typed", "open", "count=3", "colour=red", "depth=2", "--json")

    assert ran.json["result"] == {"count": 3, "colour": "red", "depth": 2}


def test_a_forgotten_tool_is_asked_for(typed: Machine) -> None:
    ran = typed.run("execute", "typed", "count=3")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("toolcrib: name a tool before count=3")


@pytest.mark.parametrize(("words", "code"), [(["typed", "boko", "count=x"], 2), (["nobody", "book", "count=x"], 2)])
def test_a_wrong_name_counts_before_wrong_arguments(words: list[str], code: int, typed: Machine) -> None:
    assert typed.run("execute", *words).code == code


def test_a_disabled_tool_stays_disabled_whatever_its_arguments(machine: Machine) -> None:
    machine.workshop("typed", more="toolRules: [{pattern: ['book'], enabled: false}]\n")

    assert machine.run("execute", "typed", "book", "count=x").code == 4


def test_inspect_shows_the_command_line_that_runs_the_tool(typed: Machine) -> None:
    shown = typed.run("inspect", "typed", "needy").out

    assert shown.endswith("Run it:\n  toolcrib execute typed needy city=TEXT\n")

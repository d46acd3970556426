"""The rule book: every example of the specification, and the properties that keep it safe."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.errors import ConfigurationError
from toolcrib.model.tool_rule import ToolRule
from toolcrib.rules.rulebook import MAX_REMEMBERED, Decision, Precedence, RuleBook

SLOW = "/(a|aa)+$/"
SLOW_NAME = "a" * 200 + "!"

TOOLS = [
    ("github", "create_issue"),
    ("github", "delete_issue"),
    ("github", "update_pr"),
    ("github", "list_repos"),
    ("filesystem", "read_file"),
    ("filesystem", "list_directory"),
    ("filesystem", "write_file"),
    ("filesystem", "delete_file"),
    ("filesystem", "rm_dir"),
    ("database", "destroy_table"),
]


def enabled(book: RuleBook) -> set[str]:
    return {f"{server}:{tool}" for server, tool in TOOLS if book.decide(server, tool).enabled}


def everything_but(*ids: str) -> set[str]:
    return {f"{server}:{tool}" for server, tool in TOOLS} - set(ids)


def test_example_1_a_star_makes_every_tool_available() -> None:
    assert enabled(RuleBook([ToolRule(("*",), enabled=True)])) == everything_but()


def test_example_2_only_safe_specific_tools_are_on_and_dangerous_ones_are_blocked() -> None:
    book = RuleBook(
        [
            ToolRule(("*issue*",), server="github", enabled=True, tags=("github", "issues")),
            ToolRule(("*read*", "*list*"), server="filesystem", enabled=True, tags=("filesystem", "safe")),
            ToolRule(("*delete*", "*remove*", "*rm*"), enabled=False, tags=("dangerous",)),
        ]
    )
    assert enabled(book) == {"github:create_issue", "filesystem:read_file", "filesystem:list_directory"}
    assert book.decide("github", "delete_issue").tags == ("github", "issues", "dangerous")
    assert book.decide("github", "delete_issue").rule == 3
    assert book.decide("github", "create_issue").tags == ("github", "issues")


def test_example_3_everything_is_on_but_destructive_operations() -> None:
    book = RuleBook([ToolRule(("*",), enabled=True), ToolRule(("*delete*", "*destroy*"), enabled=False)])
    assert enabled(book) == everything_but("github:delete_issue", "filesystem:delete_file", "database:destroy_table")


def test_example_4_regexes_give_fine_grained_control() -> None:
    book = RuleBook(
        [
            ToolRule(("/^(create|update)_/",), server="github", enabled=True, tags=("github", "write")),
            ToolRule((r"/\b(read|list|get)\b/i",), server="filesystem", enabled=True, tags=("filesystem", "read")),
            ToolRule(("/(delete|remove|destroy)/i",), enabled=False, tags=("dangerous",)),
        ]
    )
    assert enabled(book) == {"github:create_issue", "github:update_pr"}
    assert book.decide("filesystem", "Read-file").enabled
    assert book.decide("filesystem", "read_file").rule is None, "an underscore is part of the word"
    assert book.decide("database", "destroy_table").tags == ("dangerous",)
    assert any("rule 2" in warning and "matches no known tool" in warning for warning in book.check(TOOLS))


def test_the_specifications_mixed_pattern_keeps_what_is_negated_out() -> None:
    book = RuleBook([ToolRule(("*github*", "/issue/", "!*delete*"), enabled=True, tags=("github", "safe"))])
    assert enabled(book) == {"github:create_issue"}


def test_the_specifications_configuration_sample_enables_tags_and_blocks() -> None:
    book = RuleBook(
        [
            ToolRule(("*github*", "/issue/"), enabled=True, tags=("github", "issues")),
            ToolRule(("*filesystem*", "/read/", "/write/"), enabled=True, tags=("filesystem",)),
            ToolRule(("*dangerous*", "*delete*"), enabled=False, tags=("dangerous",)),
        ]
    )
    assert enabled(book) == {"github:create_issue", "filesystem:read_file", "filesystem:write_file"}


def test_server_specific_rules_leave_other_servers_alone() -> None:
    book = RuleBook([ToolRule(("*delete*", "*rm*", "*remove*"), server="filesystem", enabled=False)])
    assert enabled(book) == everything_but("filesystem:delete_file", "filesystem:rm_dir")


def test_positive_patterns_are_alternatives_and_negatives_are_conditions() -> None:
    book = RuleBook([ToolRule(("*issue*", "*file*", "!*delete*"), enabled=True)])
    assert enabled(book) == {"github:create_issue", "filesystem:read_file", "filesystem:write_file"}


@pytest.mark.parametrize("patterns", [("!*delete*", "*"), ("*", "!*delete*")])
def test_a_negation_vetoes_wherever_it_stands(patterns: tuple[str, ...]) -> None:
    book = RuleBook([ToolRule(patterns, enabled=True)])
    assert enabled(book) == everything_but("github:delete_issue", "filesystem:delete_file")


def test_a_negation_alone_matches_everything_else() -> None:
    book = RuleBook([ToolRule(("!*delete*",), enabled=True)])
    assert enabled(book) == everything_but("github:delete_issue", "filesystem:delete_file")


def test_a_regex_with_flags_decides_in_a_rule() -> None:
    assert enabled(RuleBook([ToolRule(("/ISSUE$/i",), enabled=True)])) == {"github:create_issue", "github:delete_issue"}


def test_with_first_precedence_a_first_match_equal_to_the_default_still_decides() -> None:
    book = RuleBook([ToolRule(("*delete*",), enabled=False), ToolRule(("*",), enabled=True)], "first")
    assert enabled(book) == everything_but("github:delete_issue", "filesystem:delete_file")


@pytest.mark.parametrize(
    ("precedence", "blocked"),
    [
        ("deny", {"github:delete_issue", "filesystem:delete_file"}),
        ("first", set()),
        ("last", {"github:delete_issue", "filesystem:delete_file"}),
    ],
)
def test_the_precedence_setting_says_which_of_two_rules_wins(precedence: Precedence, blocked: set[str]) -> None:
    book = RuleBook([ToolRule(("*",), enabled=True), ToolRule(("*delete*",), enabled=False)], precedence)
    assert enabled(book) == everything_but(*blocked)


def test_a_shadowed_deny_rule_is_reported_with_the_tools_it_fails_to_block() -> None:
    rules = [ToolRule(("*",), enabled=True), ToolRule(("*delete*",), enabled=False)]
    assert RuleBook(rules, "first").check(TOOLS) == [
        "rule 2 (*delete*) is overruled by rule 1 and does not block github:delete_issue, filesystem:delete_file"
    ]
    assert RuleBook(rules, "deny").check(TOOLS) == []
    assert RuleBook(rules[::-1], "last").check(TOOLS)


def test_a_long_list_of_affected_tools_is_cut() -> None:
    book = RuleBook([ToolRule(("*",), enabled=True), ToolRule(("*",), enabled=False)], "first")
    assert book.check(TOOLS)[0].endswith("and 5 more")


def test_without_rules_every_tool_is_on() -> None:
    assert RuleBook().decide("any", "tool") == Decision(True, (), None, "no rule disables it")


def test_an_enabling_rule_switches_all_other_tools_off() -> None:
    decision = RuleBook([ToolRule(("read_*",), enabled=True)]).decide("s", "write_file")
    assert (decision.enabled, decision.rule) == (False, None)
    assert "all other tools are off" in decision.reason


def test_a_rule_without_enabled_only_tags() -> None:
    book = RuleBook([ToolRule(("*issue*",), tags=("issues",))])
    assert enabled(book) == everything_but()
    assert book.decide("github", "create_issue").tags == ("issues",)


def test_tags_come_from_all_matching_rules_after_the_tools_own_without_repeats() -> None:
    book = RuleBook(
        [
            ToolRule(("*issue*",), tags=("b", "a")),
            ToolRule(("*",), tags=("a", "c")),
            ToolRule(("other",), tags=("never",)),
        ]
    )
    assert book.decide("github", "create_issue").tags == ("b", "a", "c")
    assert book.decide("github", "create_issue", own_tags=["c", "own"]).tags == ("c", "own", "b", "a")
    assert book.decide("github", "create_issue").tags == ("b", "a", "c"), "own tags are not remembered"


def test_a_decision_names_its_rule_and_reason() -> None:
    book = RuleBook([ToolRule(("*",), enabled=True), ToolRule(("*delete*",), server="github", enabled=False)])
    assert book.decide("github", "delete_issue") == Decision(False, (), 2, "disabled by rule 2 (github: *delete*)")
    assert book.decide("github", "list_repos") == Decision(True, (), 1, "enabled by rule 1 (*)")


def test_the_server_field_is_exact_or_a_glob() -> None:
    exact = RuleBook([ToolRule(("*",), server="git", enabled=False)])
    assert enabled(exact) == everything_but()
    glob = RuleBook([ToolRule(("*",), server="{git*,database}", enabled=False)])
    assert {name.split(":")[0] for name in enabled(glob)} == {"filesystem"}


def test_a_pattern_with_a_colon_selects_by_server_and_tool() -> None:
    book = RuleBook([ToolRule(("github:*",), enabled=True)])
    assert {name.split(":")[0] for name in enabled(book)} == {"github"}


def test_an_empty_pattern_list_matches_all_tools_of_its_server() -> None:
    assert not RuleBook([ToolRule((), server="github", enabled=False)]).decide("github", "x").enabled


def test_the_built_in_server_is_not_subject_to_whitelist_mode() -> None:
    assert RuleBook([ToolRule(("*issue*",), enabled=True)]).decide("toolcrib", "read_result").enabled


@pytest.mark.parametrize(
    "rule",
    [
        ToolRule(("*",), enabled=False),
        ToolRule(("*result*",), enabled=False),
        ToolRule(("!nothing",), enabled=False),
        ToolRule(("*",), server="tool*", enabled=False),
        ToolRule(("*", "toolcrib:get_schema"), enabled=False),
    ],
)
def test_a_general_rule_does_not_reach_the_built_in_server(rule: ToolRule) -> None:
    assert RuleBook([rule]).decide("toolcrib", "read_result").enabled


@pytest.mark.parametrize(
    "rule",
    [
        ToolRule(("*",), server="toolcrib", enabled=False),
        ToolRule(("toolcrib:*",), enabled=False),
        ToolRule(("toolcrib:read_*", "other"), enabled=False),
    ],
)
def test_a_rule_that_names_the_built_in_server_can_deny_its_tools(rule: ToolRule) -> None:
    assert not RuleBook([rule]).decide("toolcrib", "read_result").enabled


def test_every_unreadable_pattern_is_named_at_once() -> None:
    rules = [ToolRule(("ok", "/(/")), ToolRule(("[",), server="!x"), ToolRule(("ok",), server="a{b")]
    with pytest.raises(ConfigurationError) as caught:
        RuleBook(rules, "sometimes")  # type: ignore[arg-type]
    assert [problem.where for problem in caught.value.problems] == [
        "toolRules[0].pattern[1]",
        "toolRules[1].pattern[0]",
        "toolRules[1].server",
        "toolRules[2].server",
        "rulePrecedence",
    ]


def test_a_rule_that_matches_nothing_known_is_reported() -> None:
    assert RuleBook([ToolRule(("nope_*",), tags=("x",))]).check(TOOLS) == ["rule 1 (nope_*) matches no known tool"]


def test_an_enabling_pattern_meant_for_a_server_name_is_explained() -> None:
    assert RuleBook([ToolRule(("*github*", "*file*"), enabled=True)]).check(TOOLS) == [
        (
            "rule 1 (*github*, *file*): *github* matches no tool, but the server name github; "
            "for all tools of that server write github:*"
        )
    ]


def test_nothing_is_reported_while_no_tool_is_known() -> None:
    assert RuleBook([ToolRule(("nope_*",), enabled=True)]).check([]) == []


def test_a_pattern_without_an_answer_blocks_in_a_deny_rule() -> None:
    decision = RuleBook([ToolRule((SLOW,), enabled=False)]).decide("s", SLOW_NAME)
    assert (decision.enabled, decision.rule) == (False, 1)


def test_a_pattern_without_an_answer_does_not_open_an_allow_rule() -> None:
    assert not RuleBook([ToolRule((SLOW,), enabled=True)]).decide("s", SLOW_NAME).enabled


def test_a_negated_pattern_without_an_answer_blocks_on_both_sides() -> None:
    assert not RuleBook([ToolRule(("*", "!" + SLOW), enabled=True)]).decide("s", SLOW_NAME).enabled
    assert not RuleBook([ToolRule(("*", "!" + SLOW), enabled=False)]).decide("s", SLOW_NAME).enabled


def test_a_slow_pattern_is_given_up_and_reported_instead_of_delaying_every_tool() -> None:
    book = RuleBook([ToolRule((SLOW,), enabled=False)])
    decisions = [book.decide("s", f"{SLOW_NAME}{number}") for number in range(2_000)]
    assert not any(decision.enabled for decision in decisions)
    assert any("too slow" in warning for warning in book.check([("s", "plain")]))


def test_a_name_beyond_the_cap_is_denied_by_any_deny_rule_and_allowed_by_none() -> None:
    name = "a" * 2_000
    assert not RuleBook([ToolRule(("zzz",), enabled=False)]).decide("s", name).enabled
    assert not RuleBook([ToolRule(("*",), enabled=True)]).decide("s", name).enabled


def test_what_is_remembered_is_bounded() -> None:
    book = RuleBook([ToolRule(("*9",), enabled=False)])
    first = book.decide("s", "t0")
    for number in range(MAX_REMEMBERED + 10):
        book.decide("s", f"t{number}")
    assert len(book._remembered) == MAX_REMEMBERED
    assert book.decide("s", "t0") == first


words = st.sampled_from(["create_issue", "delete_issue", "read_file", "list", "GET-it"])
servers = st.sampled_from(["github", "fs", "toolcrib"])
patterns = st.sampled_from(
    ["*", "*issue*", "create_*", "/^(read|get)/i", "!*delete*", "!/LIST/i", "github:*", "toolcrib:*", "{read,list}*"]
)
rules = st.builds(
    ToolRule,
    pattern=st.lists(patterns, min_size=1, max_size=3).map(tuple),
    server=st.sampled_from([None, "github", "fs", "toolcrib", "*i*"]),
    enabled=st.sampled_from([None, True, False]),
    tags=st.lists(st.sampled_from(["a", "b", "c"]), max_size=2).map(tuple),
)
books = st.lists(rules, max_size=5)
precedences = st.sampled_from(["deny", "first", "last"])


@given(books, precedences, servers, words)
def test_a_remembered_decision_equals_a_fresh_one(
    written: list[ToolRule], precedence: Precedence, server: str, tool: str
) -> None:
    book = RuleBook(written, precedence)
    first = book.decide(server, tool)
    assert book.decide(server, tool) is first
    assert RuleBook(written, precedence).decide(server, tool) == first


@given(books, rules, st.integers(0, 5), servers, words)
def test_adding_a_deny_rule_never_enables_a_tool(
    written: list[ToolRule], extra: ToolRule, at: int, server: str, tool: str
) -> None:
    deny = ToolRule(extra.pattern, extra.server, False, extra.tags)
    more = [*written[:at], deny, *written[at:]]
    assert RuleBook(more).decide(server, tool).enabled <= RuleBook(written).decide(server, tool).enabled


@given(st.lists(patterns, max_size=3), st.integers(0, 3), servers, words)
def test_a_fitting_negation_always_keeps_its_rule_out(others: list[str], at: int, server: str, tool: str) -> None:
    book = RuleBook([ToolRule((*others[:at], f"!{tool}", *others[at:]), enabled=False, tags=("hit",))])
    assert book.decide(server, tool) == Decision(True, (), None, "no rule disables it")


@given(books, precedences, words)
def test_the_built_in_server_is_off_only_when_a_rule_names_it(
    written: list[ToolRule], precedence: Precedence, tool: str
) -> None:
    anonymous = [
        ToolRule(tuple(p for p in rule.pattern if not p.startswith("toolcrib:")), rule.server, rule.enabled, rule.tags)
        for rule in written
        if rule.server != "toolcrib"
    ]
    assert RuleBook(anonymous, precedence).decide("toolcrib", tool).enabled

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import tool
from toolcrib.model.tool import Tool
from toolcrib.model.verbs import CHANGING_VERBS, name_refusal
from toolcrib.topics.harmless import refusal


def named(name: str, **annotations: Any) -> Tool:
    return Tool.from_mcp("github", tool(name, annotations=annotations))


@pytest.mark.parametrize(
    "name",
    [
        "list_issues",
        "getUser",
        "read-file",
        "get_address",
        "get_commit",
        "list_updates",
        "search",
        "check_status",
        "get_utf8_text",
        "list_s3_buckets",
        "exists",
    ],
)
def test_a_name_that_says_read_may_be_called(name: str) -> None:
    assert not refusal(named(name))


@pytest.mark.parametrize(
    "name",
    [
        "create_issue",
        "send_mail",
        "run_query",
        "close_issue",
        "get_or_create_user",
        "readAndDelete",
        "fetch_and_store",
        "search_replace",
        "find_and_deletes",
        "read_then_deletes",
        "list_deleteall",
        "get_user2delete",
        "listDelete2",
        "check_in_guest",
        "check_out",
        "check_off_todo",
        "get_and_ack",
        "whoami",
        "github_list_issues",
        "",
    ],
)
def test_a_name_that_says_anything_else_is_refused_with_a_reason(name: str) -> None:
    assert refusal(named(name))


def test_what_the_server_says_counts_before_the_name() -> None:
    assert not refusal(named("run_query", readOnlyHint=True))
    assert refusal(named("list_issues", readOnlyHint=False))
    assert refusal(named("list_issues", destructiveHint=True))
    assert refusal(named("list_issues", readOnlyHint=True, destructiveHint=True))


@pytest.mark.parametrize("hint", ["true", 1, None])
def test_a_hint_that_is_not_true_or_false_says_nothing(hint: object) -> None:
    assert refusal(named("create_issue", readOnlyHint=hint))


@pytest.mark.parametrize("hints", [{"destructiveHint": 0}, {"destructiveHint": "no"}, {"readOnlyHint": 1}])
def test_a_hint_that_is_neither_true_nor_false_is_taken_for_the_worse(hints: dict[str, Any]) -> None:
    assert refusal(named("list_issues", **hints))


@given(st.sampled_from(sorted(CHANGING_VERBS)), st.sampled_from(["get_and_{}", "list-{}-things", "find_{}"]))
def test_a_changing_word_anywhere_in_a_name_is_refused(verb: str, form: str) -> None:
    assert name_refusal(form.format(verb))

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import tool
from toolcrib.model.effect import EFFECTS, effect_of
from toolcrib.model.tool import Tool

READS, WRITES = {"readOnlyHint": True}, {"readOnlyHint": False}
HARMS, SPARES = {"destructiveHint": True}, {"destructiveHint": False}


@pytest.mark.parametrize(
    ("name", "hints", "effect"),
    [
        ("get_issue", {}, "read"),
        ("browser_navigate", {}, "write"),
        ("create_issue", {}, "write"),
        ("delete_issue", {}, "destructive"),
        ("issue-delete", {}, "destructive"),
        ("forcePush", {}, "destructive"),
        ("rmdir", {}, "destructive"),
        ("docker_prune", {}, "destructive"),
        ("flushall", {}, "destructive"),
        ("get_flush_count", {}, "read"),
        ("list_deleted_files", {}, "read"),
        ("", {}, "write"),
        ("run_query", READS, "read"),
        # Whatever is sent to a database may change it.
        ("query", {}, "write"),
        ("query_database", {}, "write"),
        ("query", READS, "read"),
        ("query_docs", {}, "read"),
        ("get_issue", WRITES, "write"),
        ("get_issue", HARMS, "destructive"),
        ("get_issue", {**READS, **HARMS}, "destructive"),
        # The server says that it only reads, its name does not: the stricter word counts.
        ("delete_issue", READS, "destructive"),
        ("dropAll", {**READS, **SPARES}, "destructive"),
        ("get_reset_link", READS, "read"),
        ("get_reset_link", SPARES, "write"),
        ("add_label", SPARES, "write"),
        # A hint that is no yes and no no is taken for the worse.
        ("get_issue", {"readOnlyHint": "yes"}, "write"),
        ("get_issue", {"readOnlyHint": "false"}, "write"),
        ("get_issue", {"readOnlyHint": True, "destructiveHint": "true"}, "destructive"),
        ("get_issue", {"readOnlyHint": True, "destructiveHint": 0}, "destructive"),
        ("get_issue", {"readOnlyHint": True, "destructiveHint": 0.0}, "destructive"),
        ("get_issue", {"readOnlyHint": 1}, "write"),
        ("get_issue", {"readOnlyHint": None, "destructiveHint": None}, "read"),
    ],
)
def test_hints_count_and_names_where_there_are_none(name: str, hints: Mapping[str, Any], effect: str) -> None:
    assert effect_of(name, hints) == effect


@given(st.text(max_size=30), st.sampled_from([{}, READS, WRITES, SPARES]))
def test_to_be_called_destructive_is_never_milder(name: str, hints: Mapping[str, Any]) -> None:
    assert EFFECTS.index(effect_of(name, {**hints, **HARMS})) >= EFFECTS.index(effect_of(name, hints))


@pytest.mark.parametrize(
    ("name", "server", "hints", "effect"),
    [
        ("github_get_issue", "github", {}, "read"),
        ("githubGetIssue", "github-mcp-server", {}, "read"),
        ("github_delete_repo", "github", READS, "destructive"),
        ("github_get_issue", "gitlab", {}, "write"),
        ("github", "github", {}, "write"),
        ("delete_get_file", "delete", {}, "destructive"),
        ("empty_trash", "mail", {}, "destructive"),
        ("list_trash", "mail", {}, "read"),
        ("find_empty_rooms", "rooms", {}, "read"),
    ],
)
def test_the_name_of_the_server_in_front_says_nothing_of_a_tool(
    name: str, server: str, hints: Mapping[str, Any], effect: str
) -> None:
    assert Tool.from_mcp(server, tool(name, annotations=hints)).effect == effect


def test_a_name_of_ours_makes_no_tool_milder() -> None:
    renamed = Tool.from_mcp("files", tool("delete_file")).renamed(server="files", name="get_delete_file")

    assert renamed.effect == "destructive"


def test_to_read_a_resource_or_get_a_prompt_changes_nothing() -> None:
    assert Tool.item("files", "resource", {"uri": "file:///delete", "name": "delete"}).effect == "read"
    assert Tool.item("files", "prompt", {"name": "delete_all"}).effect == "read"


def test_what_a_tool_does_on_another_server_does_not_depend_on_who_asked_before() -> None:
    """Two entries may start the same server, and the one that was not read has its tools under its own name."""
    read = Tool.from_mcp("github", tool("github_get_issue"))
    before = read.renamed(server="tracker", name="github_get_issue").effect
    assert read.effect == "read"

    assert read.renamed(server="tracker", name="github_get_issue").effect == before == "write"

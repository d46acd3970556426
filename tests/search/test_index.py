from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.model.tool import Tool, ToolMatch
from toolcrib.search.index import ToolIndex
from toolcrib.search.terms import squash


def tool(server: str, name: str, description: str = "", **definition: Any) -> Tool:
    return Tool.from_mcp(server, {"name": name, "description": description, **definition})


def ids(matches: list[ToolMatch]) -> list[str]:
    return [match.tool.id for match in matches]


ISSUES = [
    tool("github", "create_issue", "Create an issue in a repository."),
    tool("github", "list_commits", "List commits of a branch on GitHub, in a GitHub repository."),
    tool("jira", "create_issue", "Create an issue in a project."),
    tool("jira", "delete_issue", "Delete an issue. Jira Jira Jira Jira Jira."),
    tool("weather", "get_forecast", "Forecast for a city."),
]


def test_a_server_filter_leaves_only_that_server() -> None:
    assert ids(ToolIndex(ISSUES).search("create issue", server="jira")) == ["jira:create_issue", "jira:delete_issue"]


def test_a_server_nobody_knows_has_no_matches() -> None:
    assert ToolIndex(ISSUES).search("create issue", server="gitlab") == []


@pytest.mark.parametrize("server", ["github", "jira"])
def test_a_server_named_in_the_query_is_preferred(server: str) -> None:
    assert ids(ToolIndex(ISSUES).search(f"please create an issue on {server}"))[0] == f"{server}:create_issue"


def test_the_verb_decides_between_tools_of_the_server_named() -> None:
    found = ids(ToolIndex(ISSUES).search("jira: I want to create some issue"))
    assert found.index("jira:create_issue") < found.index("jira:delete_issue")


def test_hidden_tools_are_dropped_before_the_cut() -> None:
    tools = [tool("s", f"send_mail_{number}", "Send mail.") for number in range(50)]
    matches = ToolIndex(tools).search("send mail now", limit=3, allowed=lambda one: int(one.name[10:]) >= 40)
    assert ids(matches) == ["s:send_mail_40", "s:send_mail_41", "s:send_mail_42"]


def test_a_hidden_tool_is_not_found_by_its_exact_name_either() -> None:
    assert ToolIndex(ISSUES).search("get_forecast", allowed=lambda one: one.server != "weather") == []


def test_tags_are_searched() -> None:
    index = ToolIndex(ISSUES, tags=lambda one: ["meteorology"] if one.server == "weather" else [])
    assert ids(index.search("meteorology")) == ["weather:get_forecast"]


def test_titles_and_parameters_are_searched() -> None:
    schema = {"properties": {"iban": {"description": "Account in the eurozone", "enum": ["savings"]}}}
    index = ToolIndex([tool("bank", "xfer", title="Wire transfer", inputSchema=schema), *ISSUES])
    for query in ("wire", "iban", "eurozone", "savings"):
        assert ids(index.search(query)) == ["bank:xfer"]


def test_an_option_that_all_tools_of_a_server_share_finds_none_of_them() -> None:
    schema: dict[str, Any] = {"properties": {"tenant": {}}}
    tools = [tool("cloud", f"op{number}", f"thing{number}", inputSchema=schema) for number in range(6)]
    assert ToolIndex(tools).search("tenant") == []


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "\0", "?!", "the of and"])
def test_a_query_without_content_finds_nothing(query: str) -> None:
    assert ToolIndex(ISSUES).search(query) == []


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_finds_nothing(limit: int) -> None:
    assert ToolIndex(ISSUES).search("issue", limit=limit) == []


def test_a_query_is_read_up_to_4096_characters() -> None:
    index = ToolIndex(ISSUES)
    assert index.search("x" * 4_096 + " forecast") == []
    assert ids(index.search("forecast " + "x" * 1_000_000)) == ["weather:get_forecast"]


def test_relevance_falls_with_rank_and_is_certain_only_for_names() -> None:
    matches = ToolIndex(ISSUES).search("create issue", limit=10)
    relevances = [match.relevance for match in matches]
    assert relevances == sorted(relevances, reverse=True)
    assert relevances[:2] == [1.0, 1.0]
    assert all(0 < relevance < 1 and relevance == round(relevance, 2) for relevance in relevances[2:])


def test_ties_go_to_the_shorter_name_then_the_server_then_the_tool() -> None:
    tools = [tool(server, name, "Ping.") for server in ("z", "a") for name in ("bbb", "aaa", "c")]
    expected = ["a:c", "z:c", "a:aaa", "a:bbb", "z:aaa", "z:bbb"]
    assert ids(ToolIndex(tools).search("ping")) == expected
    assert ids(ToolIndex(reversed(tools)).search("ping")) == expected


def test_stuffing_a_description_with_keywords_does_not_win() -> None:
    honest = tool("mail", "send_email", "Send an email to a person.")
    stuffed = tool("spam", "do_all", "send email " * 500 + "files calendar weather search database " * 50)
    repeated = tool("spam", "x", "send email " * 5)
    index = ToolIndex([honest, stuffed, repeated, *ISSUES])
    assert ids(index.search("how do I send an email"))[0] == "mail:send_email"


def test_a_tool_added_again_replaces_the_old_one_and_keeps_its_neighbours() -> None:
    index = ToolIndex(ISSUES)
    index.add([tool("jira", "create_issue", "Plant a tree.")])
    assert len(index) == len(ISSUES)
    assert ids(index.search("plant tree")) == ["jira:create_issue"]
    assert ids(index.search("delete", server="jira")) == ["jira:delete_issue"]


def test_a_removed_server_is_gone_and_removing_it_twice_is_no_error() -> None:
    index = ToolIndex(ISSUES)
    index.remove("weather")
    index.remove("weather")
    assert index.servers == ("github", "jira")
    assert len(index) == 4
    assert index.search("forecast") == index.search("get_forecast") == []


HOSTILE_TEXTS = ["🎉🚀", "a\0b", "\u202eמזג אוויר\u202c", "\ud800 lone", "ﷺ" * 50, "e\u0301" * 500, "word " * 200_000]
HOSTILE_SCHEMAS: list[Any] = [
    None,
    "object",
    {"properties": ["a"]},
    {"properties": {"a": 1, "b": None, "c": {"description": 5, "enum": "abc"}, "d": {"enum": [1, None, "x"]}}},
    {"properties": {str(number): {"enum": ["y" * 1_000] * 1_000} for number in range(200)}},
]


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_text_in_any_place_neither_raises_nor_hides_other_tools(text: str) -> None:
    tools = [tool(text, "a", text), tool("b", text, title=text), *ISSUES]
    index = ToolIndex(tools, tags=lambda _tool: [text])
    index.search(text)
    assert ids(index.search("get_forecast"))[0] == "weather:get_forecast"
    index.remove(text)
    assert text not in index.servers


@pytest.mark.parametrize("schema", HOSTILE_SCHEMAS)
def test_a_hostile_schema_does_not_keep_a_tool_from_being_found(schema: Any) -> None:
    broken = tool("odd", "frobnicate", inputSchema=schema)
    assert ids(ToolIndex([broken, *ISSUES]).search("frobnicate"))[0] == "odd:frobnicate"


# A small alphabet, so that names collide, nest and differ by separators only.
names = st.text("abAB_-. :é1🎉", min_size=1, max_size=6).filter(lambda name: bool(name.strip()))
tool_sets = st.lists(st.builds(tool, names, names, st.text("ab _1", max_size=20)), min_size=1, max_size=12)


@given(tool_sets, st.data())
def test_a_tool_named_in_full_is_always_first(tools: list[Tool], data: st.DataObject) -> None:
    index = ToolIndex(tools)
    wanted = data.draw(st.sampled_from(tools))
    by_id = index.search(wanted.id)[0]
    by_name = index.search(wanted.name)[0]
    assert by_id.relevance == by_name.relevance == 1.0
    assert by_id.tool.id.strip() == wanted.id.strip()
    assert wanted.name.strip() in (by_name.tool.name.strip(), by_name.tool.id.strip())
    assert index.search(wanted.name, server=wanted.server)[0].tool.name.strip() == wanted.name.strip()


words = st.lists(st.sampled_from(["create", "issue", "list", "files", "get", "user", "v2"]), min_size=1, max_size=3)


@given(st.lists(words, min_size=1, max_size=10), st.sampled_from("_-. /"), st.data())
def test_a_name_with_other_separators_is_always_first(
    named: list[list[str]], separator: str, data: st.DataObject
) -> None:
    index = ToolIndex(tool("my-server", "_".join(parts), "create list get issue files user") for parts in named)
    parts = data.draw(st.sampled_from(named))
    camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
    for spelling in (separator.join(parts), camel, f"My Server {separator.join(parts)}", f"my_server/{camel}"):
        first = index.search(spelling)[0]
        assert first.relevance == 1.0
        assert squash(first.tool.name) == squash("".join(parts))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("remove"), st.sampled_from("xyz")),
        st.tuples(
            st.just("add"), st.lists(st.builds(tool, st.sampled_from("xyz"), names, st.text("ab ", max_size=12)))
        ),
    ),
    max_size=12,
)


@settings(max_examples=200)
@given(steps)
def test_adding_and_removing_ranks_as_a_fresh_index_does(sequence: list[tuple[str, Any]]) -> None:
    index, kept = ToolIndex(), dict[tuple[str, str], Tool]()
    for action, value in sequence:
        if action == "add":
            index.add(value)
            kept.update({(one.server, one.name): one for one in value})
        else:
            index.remove(value)
            kept = {key: one for key, one in kept.items() if one.server != value}
    fresh = ToolIndex(reversed(list(kept.values())))
    assert (len(index), index.servers) == (len(fresh), fresh.servers)
    for query in ("a", "b a", "ab x", "aab bb y", "x:a"):
        assert index.search(query, limit=50) == fresh.search(query, limit=50)
        assert index.search(query, server="x") == fresh.search(query, server="x")


@given(tool_sets, st.text(max_size=30))
def test_any_query_gives_matches_in_order_and_the_same_each_time(tools: list[Tool], query: str) -> None:
    matches = ToolIndex(tools).search(query, limit=5)
    assert len(matches) <= 5
    assert all(0 <= match.relevance <= 1 for match in matches)
    assert [match.relevance for match in matches] == sorted((match.relevance for match in matches), reverse=True)
    assert matches == ToolIndex(tools).search(query, limit=5)


def test_a_definition_is_not_changed_by_being_indexed() -> None:
    definition: Mapping[str, Any] = {"name": "t", "inputSchema": {"properties": {"a": {"enum": ["x"]}}}}
    match = ToolIndex([Tool.from_mcp("s", definition)]).search("t")[0]
    assert match.tool.definition is definition

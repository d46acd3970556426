"""What a search finds, through `ToolIndex`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.catalog import ISSUES, ids, tool
from tests.search.tiny_encoder import TinyEncoder
from toolcrib.model.tool import Tool
from toolcrib.search.index import ToolIndex
from toolcrib.search.terms import squash

TINY = TinyEncoder()


@pytest.fixture(scope="module")
def index() -> ToolIndex:
    return ToolIndex(ISSUES)


def by_words(*tools: Tool) -> ToolIndex:
    """An index in which nothing has a vector, so that only words decide."""
    index = ToolIndex(encoder=TINY)
    index.add_words(tools)
    return index


def as_close_as_can_be(query: str) -> ToolIndex:
    """An index in which every tool seems to mean just what the query does."""
    index = by_words(*ISSUES)
    waiting = index.unencoded(len(ISSUES))
    index.put_vectors(waiting, np.repeat(TINY.encode_queries([query]), len(waiting), axis=0))
    return index


def test_a_search_gives_as_many_tools_as_asked_for_however_little_they_fit(index: ToolIndex) -> None:
    assert len(index.search("knit a sweater", limit=3)) == 3
    assert len(index.search("knit a sweater", limit=100)) == len(ISSUES)


def test_a_server_filter_leaves_only_that_server(index: ToolIndex) -> None:
    found = ids(index.search("please create an issue", server="jira"))
    assert found == ["jira:create_issue", "jira:delete_issue"]


def test_a_server_nobody_knows_has_no_matches(index: ToolIndex) -> None:
    assert index.search("create issue", server="gitlab") == []


@pytest.mark.parametrize("server", ["github", "jira"])
def test_a_server_named_in_the_query_is_preferred(index: ToolIndex, server: str) -> None:
    assert ids(index.search(f"please create an issue on {server}"))[0] == f"{server}:create_issue"


def test_the_verb_decides_between_tools_of_the_server_named(index: ToolIndex) -> None:
    found = ids(index.search("jira: I want to create some issue"))
    assert found.index("jira:create_issue") < found.index("jira:delete_issue")


def test_hidden_tools_are_dropped_before_the_cut() -> None:
    index = by_words(*(tool("s", f"send_mail_{number}", "Send mail.") for number in range(50)))
    matches = index.search("send mail now", limit=3, allowed=lambda one: int(one.name[10:]) >= 40)
    assert ids(matches) == ["s:send_mail_40", "s:send_mail_41", "s:send_mail_42"]


@pytest.mark.parametrize("wanted", [0, 7, 299])
def test_the_one_tool_that_is_allowed_is_found_among_hundreds_that_are_not(wanted: int) -> None:
    index = ToolIndex([tool("s", f"send_mail_{number}", "Send a mail.") for number in range(300)], encoder=TINY)
    assert ids(index.search("weather", limit=3, allowed=lambda one: one.name == f"send_mail_{wanted}")) == [
        f"s:send_mail_{wanted}"
    ]


def test_a_hidden_tool_is_not_found_by_its_exact_name_either(index: ToolIndex) -> None:
    found = index.search("get_forecast", allowed=lambda one: one.server != "weather")
    assert "weather:get_forecast" not in ids(found)
    assert all(match.relevance < 1 for match in found)


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_an_empty_query_finds_nothing(index: ToolIndex, query: str) -> None:
    assert index.search(query) == []


@pytest.mark.parametrize("query", ["\0", "?!", "the of and", "qzx vrrk jjwq"])
def test_a_query_without_sense_is_no_reason_to_believe_in_any_tool(index: ToolIndex, query: str) -> None:
    best, fitting = index.search(query)[0], index.search("what is the forecast for my city")[0]
    assert best.relevance < fitting.relevance


@pytest.mark.parametrize("query", ["asdfgh qwertz", "the blorptang", "zzzzzz"])
def test_letters_without_a_meaning_have_hardly_a_chance_however_close_they_lie(query: str) -> None:
    assert as_close_as_can_be(query).search(query)[0].relevance <= 0.05


@pytest.mark.parametrize("query", ["asdfgh weather", "asdfgh gitHub", "k8s", "東京 asdfgh", "créations", "the of and"])
def test_one_word_that_is_known_or_cannot_be_judged_lets_a_query_count(query: str) -> None:
    assert as_close_as_can_be(query).search(query)[0].relevance > 0.3


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_finds_nothing(index: ToolIndex, limit: int) -> None:
    assert index.search("issue", limit=limit) == []


def test_a_query_is_read_up_to_4096_characters(index: ToolIndex) -> None:
    assert index.search("x" * 4_096 + " forecast") == index.search("x" * 4_096)
    assert ids(index.search("forecast " + "x" * 1_000_000))[0] == "weather:get_forecast"


def test_relevance_falls_with_rank_and_is_certain_only_for_names(index: ToolIndex) -> None:
    relevances = [match.relevance for match in index.search("create issue")]
    assert relevances == sorted(relevances, reverse=True)
    assert relevances[:2] == [1.0, 1.0]
    assert all(0 <= relevance <= 0.99 and relevance == round(relevance, 2) for relevance in relevances[2:])


def test_a_tool_is_found_by_what_it_means_where_no_word_is_shared(index: ToolIndex) -> None:
    assert ids(index.search("will it rain tomorrow"))[0] == "weather:get_forecast"


def test_a_mistyped_word_is_understood(index: ToolIndex) -> None:
    assert index.search("forcast for a citty")[0] == index.search("forecast for a city")[0]


def test_ties_go_to_the_shorter_name_then_the_server_then_the_tool() -> None:
    tools = [tool(server, name, "Ping.") for server in ("z", "a") for name in ("bbb", "aaa", "c")]
    expected = ["a:c", "z:c", "a:aaa", "a:bbb", "z:aaa", "z:bbb"]
    assert ids(by_words(*tools).search("ping")) == expected
    assert ids(by_words(*reversed(tools)).search("ping")) == expected


def test_stuffing_a_description_with_keywords_does_not_win() -> None:
    honest = tool("mail", "send_email", "Send an email to a person.")
    stuffed = tool("spam", "do_all", "send email " * 500 + "files calendar weather search database " * 50)
    index = ToolIndex([honest, stuffed, *ISSUES])
    assert ids(index.search("how do I send an email"))[0] == "mail:send_email"


def test_saying_the_same_again_and_again_changes_no_rank() -> None:
    honest = tool("mail", "send_email", "Send an email to a person.")

    def ranked(description: str) -> list[str]:
        index = ToolIndex([honest, tool("spam", "x", description), *ISSUES])
        return ids(index.search("how do I send an email"))[:2]

    assert ranked("send email " * 5) == ranked("send email")


TRACKERS = [
    tool("github", "create_issue", "Open a new issue in a repository"),
    tool("jira", "create_issue", "Create an issue in a project"),
    tool("slack", "post_message", "Send a message to a channel"),
    tool("weather", "get_forecast", "Forecast for a city for the coming days"),
]


@pytest.mark.parametrize(
    "query",
    ["call create_issue in the project jira", "please use createIssue for this", "jira:create_issue, then tell me"],
)
def test_a_tool_named_inside_a_request_comes_first(query: str) -> None:
    index = ToolIndex(
        [*TRACKERS, tool("projects", "project_call", "Call a project to please all of this, then tell me")]
    )
    first = index.search(query)[0]
    assert (first.tool.name, first.relevance >= 0.45) == ("create_issue", True)


@pytest.mark.parametrize("query", ["please delete the email of Tom", "remove mail that I got from WhatsApp"])
def test_an_everyday_word_or_a_product_is_no_name_inside_a_request(query: str) -> None:
    tools = [tool("redis", "delete", "Drop a key"), tool("brevo", "whatsapp", "Campaign figures")]
    assert (
        ids(ToolIndex([*tools, tool("mail", "remove_mail", "Delete an email for good")]).search(query))[0]
        == "mail:remove_mail"
    )


@pytest.mark.parametrize(
    "query", ["do not use create_card, I want a ticket", "open a ticket, anything but create_card"]
)
def test_a_tool_named_after_a_not_does_not_come_first(query: str) -> None:
    index = ToolIndex(
        [tool("trello", "create_card", "Put a card on a board"), tool("jira", "open", "Open a new ticket")]
    )
    assert ids(index.search(query))[0] == "jira:open"


def test_a_mentioned_tool_comes_first_however_many_have_more_of_the_words() -> None:
    words = "report invoice customer order payment refund"
    crowd = [tool(f"s{number}", f"tool{number}", words) for number in range(250)]
    index = by_words(*crowd, tool("zed", "do_it", "Something else"))
    assert ids(index.search(f"call do_it for the {words}"))[0] == "zed:do_it"


def test_a_name_that_many_tools_bear_pushes_nothing_away() -> None:
    forecast = tool("weather", "get_forecast", "The weather forecast of a city")
    index = ToolIndex([*(tool(f"s{number}", "get_user", "Read a user") for number in range(30)), forecast])
    found = index.search("call get_user and tell me the weather forecast for the city", limit=40)
    assert next(hit for hit in found if hit.tool == forecast).relevance > 0.3


def test_a_product_that_writes_itself_with_a_capital_inside_is_no_name_of_a_tool() -> None:
    index = ToolIndex(
        [tool("brevo", "ebay", "Figures of a campaign"), tool("shop", "find_offer", "Find a cheap laptop")]
    )
    assert ids(index.search("find a cheap laptop on eBay"))[0] == "shop:find_offer"


def test_explaining_a_tool_named_inside_a_request_says_so() -> None:
    index = ToolIndex(TRACKERS)
    query = "call github:create_issue for whatever the forecast says"
    assert [index.explain(query, own).is_named for own in TRACKERS[:2]] == [True, False]


def test_beside_a_tool_that_is_named_in_full_others_are_unlikely() -> None:
    named, *others = ToolIndex(TRACKERS).search("github create issue")
    assert (named.tool.server, named.relevance) == ("github", 1.0)
    assert all(other.relevance < 0.35 for other in others)


def test_what_may_not_be_seen_bears_on_no_relevance() -> None:
    index = ToolIndex(TRACKERS)

    def of_jira(**options: Any) -> float:
        found = index.search("open an issue", **options)
        return next(match.relevance for match in found if match.tool.server == "jira")

    hidden_rival = of_jira(allowed=lambda tool: tool.server != "github")
    assert of_jira() < hidden_rival
    assert hidden_rival == pytest.approx(of_jira(server="jira"), abs=0.05)


def test_a_lone_tool_is_as_relevant_as_among_others_that_do_not_fit() -> None:
    query = "will it rain in Oslo this weekend"
    among, alone = ToolIndex(TRACKERS).search(query)[0], ToolIndex(TRACKERS[-1:]).search(query)[0]
    assert among.tool == alone.tool
    assert alone.relevance == pytest.approx(among.relevance, abs=0.05)


def test_how_many_are_wanted_changes_no_relevance() -> None:
    index = ToolIndex(TRACKERS)
    assert index.search("open an issue", limit=1) == index.search("open an issue", limit=4)[:1]


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
    index = ToolIndex(tools, tags=lambda _tool: [text], encoder=TINY)
    index.search(text)
    assert ids(index.search("get_forecast"))[0] == "weather:get_forecast"
    index.remove(text)
    assert text not in index.servers


@pytest.mark.parametrize("schema", HOSTILE_SCHEMAS)
def test_a_hostile_schema_does_not_keep_a_tool_from_being_found(schema: Any) -> None:
    broken = tool("odd", "frobnicate", inputSchema=schema)
    assert ids(ToolIndex([broken, *ISSUES], encoder=TINY).search("frobnicate"))[0] == "odd:frobnicate"


# A small alphabet, so that names collide, nest and differ by separators only.
names = st.text("abAB_-. :é1🎉", min_size=1, max_size=6).filter(lambda name: bool(name.strip()))
tool_sets = st.lists(st.builds(tool, names, names, st.text("ab _1", max_size=20)), min_size=1, max_size=12)


@given(tool_sets, st.data())
def test_a_tool_named_in_full_is_always_first(tools: list[Tool], data: st.DataObject) -> None:
    index = ToolIndex(tools, encoder=TINY)
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
    tools = [tool("my-server", "_".join(parts), "create list get issue files user") for parts in named]
    index = ToolIndex(tools, encoder=TINY)
    parts = data.draw(st.sampled_from(named))
    camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
    for spelling in (separator.join(parts), camel, f"My Server {separator.join(parts)}", f"my_server/{camel}"):
        first = index.search(spelling)[0]
        assert first.relevance == 1.0
        assert squash(first.tool.name) == squash("".join(parts))


@given(tool_sets, st.text(max_size=30))
def test_any_query_gives_each_tool_once_in_order_and_the_same_each_time(tools: list[Tool], query: str) -> None:
    matches = ToolIndex(tools, encoder=TINY).search(query, limit=5)
    relevances = [match.relevance for match in matches]
    assert len(set(ids(matches))) == len(matches) <= 5
    assert all(0 <= relevance <= 1 for relevance in relevances)
    assert relevances == sorted(relevances, reverse=True)
    assert matches == ToolIndex(tools, encoder=TINY).search(query, limit=5)


def test_a_definition_is_not_changed_by_being_indexed() -> None:
    definition: Mapping[str, Any] = {"name": "t", "inputSchema": {"properties": {"a": {"enum": ["x"]}}}}
    match = ToolIndex([Tool.from_mcp("s", definition)], encoder=TINY).search("t")[0]
    assert match.tool.definition is definition


PAPERS = [
    *(tool("arxiv", f"{verb}_papers", f"{verb} arXiv papers on a topic, the newest paper first") for verb in ("find", "list", "get")),
    tool("arxiv", "paper_details", "Details of the newest arXiv paper on a topic: title, abstract, authors"),
    tool("arxiv", "paper_citations", "Find papers on arXiv that cite a paper on a topic"),
    tool("arxiv", "paper_authors", "Find the newest arXiv paper of an author on a topic"),
    tool("deepl", "translate_text", "Translate text to another language, such as German"),
    tool("gmail", "dispatch", "Mail to somebody"),
]  # fmt: skip
SEVERAL_WISHES = "Find the newest arXiv paper on a topic, translate the abstract to German and mail it to Anna"


def test_each_of_several_wishes_has_its_best_tool_near_the_top() -> None:
    matches = by_words(*PAPERS).search(SEVERAL_WISHES)
    assert ids(matches)[0].startswith("arxiv:")
    assert {"deepl:translate_text", "gmail:dispatch"} < set(ids(matches)[:5])
    relevances = [match.relevance for match in matches]
    assert relevances == sorted(relevances, reverse=True)


def test_a_hidden_tool_takes_no_place_of_a_wish() -> None:
    other_mail = tool("outlook", "dispatch", "Mail to somebody")
    index, without = by_words(*PAPERS, other_mail), by_words(*PAPERS)
    visible = index.search(SEVERAL_WISHES, allowed=lambda one: one.server != "gmail")
    assert "outlook:dispatch" in ids(visible)[:5]
    hidden = index.search(SEVERAL_WISHES, allowed=lambda one: one != other_mail)
    assert ids(hidden) == ids(without.search(SEVERAL_WISHES))


def test_how_many_are_wanted_changes_nothing_about_several_wishes() -> None:
    index = by_words(*PAPERS)
    assert index.search(SEVERAL_WISHES, limit=3) == index.search(SEVERAL_WISHES, limit=8)[:3]

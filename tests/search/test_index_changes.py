"""Tools that come, change and go, and those whose vectors are still to be made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.search.catalog import ISSUES, ids, tool
from tests.search.tiny_encoder import TinyEncoder
from toolcrib.model.tool import Tool
from toolcrib.search.index import ToolIndex

TINY = TinyEncoder()


@pytest.fixture
def encoder() -> TinyEncoder:
    return TinyEncoder()


def test_a_tool_added_again_replaces_the_old_one_and_keeps_its_neighbours() -> None:
    index = ToolIndex(ISSUES)
    index.add([tool("jira", "create_issue", "Plant a tree.")])
    assert len(index) == len(ISSUES)
    assert ids(index.search("plant a tree in the garden"))[0] == "jira:create_issue"
    assert sorted(ids(index.search("delete", server="jira"))) == ["jira:create_issue", "jira:delete_issue"]


def test_a_removed_server_is_gone_and_removing_it_twice_is_no_error(encoder: TinyEncoder) -> None:
    index = ToolIndex(ISSUES, encoder=encoder)
    index.remove("weather")
    index.remove("weather")
    assert (index.servers, len(index)) == (("github", "jira"), 4)
    assert "weather:get_forecast" not in ids(index.search("forecast")) + ids(index.search("get_forecast"))
    assert index.search("forecast", server="weather") == []


def test_a_server_without_tools_is_known_all_the_same(encoder: TinyEncoder) -> None:
    index = ToolIndex(encoder=encoder)
    index.replace("empty", [], mark="read")
    assert (index.servers, len(index), index.mark("empty")) == (("empty",), 0, "read")
    assert index.mark("unheard") is None
    assert index.search("anything", server="empty") == index.search("anything") == []


# -- vectors


def test_only_the_tools_that_are_added_are_encoded(encoder: TinyEncoder) -> None:
    index = ToolIndex(ISSUES, encoder=encoder)
    encoder.encoded.clear()
    index.add([tool("mail", "send", "Send a mail.")])
    index.remove("jira")
    assert encoder.encoded == ["mail send: Send a mail."]


def test_tools_that_read_as_before_keep_their_vectors(encoder: TinyEncoder) -> None:
    index = ToolIndex(ISSUES, encoder=encoder)
    before = index.search("send a mail about the weather")
    encoder.encoded.clear()
    index.add(ISSUES)
    index.replace("github", ISSUES[:2], mark="again")
    assert index.unencoded(10) == []
    assert index.search("send a mail about the weather") == before
    assert encoder.encoded == []
    index.add([tool("jira", "create_issue", "Create an issue in another project.")])
    assert encoder.encoded == ["jira create issue: Create an issue in another project."]


def test_a_renamed_parameter_text_costs_no_vector_but_is_found(encoder: TinyEncoder) -> None:
    """The encoder reads parameter names only, the words also what is said about them."""
    index = ToolIndex([tool("s", "pay", inputSchema={"properties": {"to": {"description": "Old"}}})], encoder=encoder)
    encoder.encoded.clear()
    index.add([tool("s", "pay", inputSchema={"properties": {"to": {"description": "Beneficiary"}}})])
    assert encoder.encoded == []
    words = index.explain("beneficiary", index.search("beneficiary")[0].tool).words
    assert words[0].fields == ("parameter descriptions",)


def test_a_tool_without_a_vector_is_found_by_its_words_among_others_that_have_one() -> None:
    index = ToolIndex(ISSUES[:4])
    index.add_words([ISSUES[4]])
    assert [one.text for one in index.unencoded(10)] == ["weather get forecast: Forecast for a city."]
    assert ids(index.search("forecast for the city of Rome"))[0] == "weather:get_forecast"
    assert ids(index.search("create an issue in the project"))[0] == "jira:create_issue"
    assert ids(index.search("get-forecast"))[0] == "weather:get_forecast"
    assert index.explain("city", ISSUES[4]).closeness is None


def test_vectors_that_come_later_make_the_index_as_one_made_at_once(encoder: TinyEncoder) -> None:
    index = ToolIndex(encoder=encoder)
    index.add_words(ISSUES)
    while waiting := index.unencoded(2):
        index.put_vectors(waiting, encoder.encode([one.text for one in waiting]))
    at_once = {match.tool.id: match.relevance for match in ToolIndex(ISSUES, encoder=encoder).search("send mail")}
    later = {match.tool.id: match.relevance for match in index.search("send mail")}
    assert later == pytest.approx(at_once, abs=0.02)


def test_a_vector_for_a_tool_that_left_meanwhile_changes_nothing(encoder: TinyEncoder) -> None:
    index = ToolIndex(ISSUES[:4], encoder=encoder)
    index.add_words([ISSUES[4]])
    gone = index.unencoded(10)
    index.remove("weather")
    before = index.search("forecast")
    index.put_vectors(gone, encoder.encode([one.text for one in gone]))
    assert index.search("forecast") == before
    assert index.unencoded(10) == []


def test_a_vector_for_an_older_state_of_a_tool_is_not_taken(encoder: TinyEncoder) -> None:
    index = ToolIndex(encoder=encoder)
    index.add_words([tool("s", "t", "Send a mail.")])
    old = index.unencoded(10)
    index.replace("s", [tool("s", "t", "The weather.")])
    index.put_vectors(old, encoder.encode([one.text for one in old]))
    assert [one.text for one in index.unencoded(10)] == ["s t: The weather."]


def test_a_vector_of_another_length_is_passed_over(encoder: TinyEncoder) -> None:
    index = ToolIndex(encoder=encoder)
    index.add_words(ISSUES[:1])
    index.put_vectors(index.unencoded(1), np.ones((1, 32), dtype=np.float32))
    assert len(index.unencoded(10)) == 1


# -- the same as new

names = st.text("abAB_-. 1🎉", min_size=1, max_size=4).filter(lambda name: bool(name.strip()))
some_tools = st.lists(st.builds(tool, st.sampled_from("xyz"), names, st.text("ab ", max_size=12)), max_size=6)
steps = st.lists(
    st.one_of(st.tuples(st.just("remove"), st.sampled_from("xyz")), st.tuples(st.just("add"), some_tools)), max_size=8
)


@given(steps)
def test_adding_and_removing_ranks_as_a_fresh_index_does(sequence: list[tuple[str, Any]]) -> None:
    index, kept = ToolIndex(encoder=TINY), dict[tuple[str, str], Tool]()
    for action, value in sequence:
        if action == "add":
            index.add_words(value)
            kept.update({(one.server, one.name): one for one in value})
        else:
            index.remove(value)
            kept = {key: one for key, one in kept.items() if one.server != value}
    fresh = ToolIndex(encoder=TINY)
    fresh.add_words(reversed(list(kept.values())))
    assert (len(index), index.servers) == (len(fresh), fresh.servers)
    for query in ("b a", "ab x", "x:a"):
        assert index.search(query, limit=50) == fresh.search(query, limit=50)
        assert index.search(query, server="x") == fresh.search(query, server="x")

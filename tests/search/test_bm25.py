"""The words of tools, ranked without any meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.search.catalog import ISSUES, tool
from toolcrib.model.tool import Tool
from toolcrib.search.bm25 import Block, Bm25
from toolcrib.search.document import server_documents
from toolcrib.search.query import Query
from toolcrib.search.terms import terms

Postings = dict[str, list[tuple[int, float]]]


def add(words: Bm25, tools: Sequence[Tool], tags: Sequence[str] = ()) -> Block:
    return words.add(server_documents(tools, [tags for _ in tools]))


def scores(words: Bm25, text: str) -> list[float]:
    found: list[float] = words.scores(Query.parse(text, words.__contains__).all).tolist()
    return found


def postings(words: Bm25) -> Postings:
    return {
        term: list(zip(documents.tolist(), strengths.tolist(), strict=True))
        for term, (documents, strengths) in words.snapshot()()
    }


def test_tags_titles_and_parameters_are_searched() -> None:
    words = Bm25()
    schema = {"properties": {"iban": {"description": "Account in the eurozone", "enum": ["savings"]}}}
    add(words, [tool("bank", "xfer", title="Wire transfer", inputSchema=schema)], tags=["money"])
    add(words, ISSUES)
    for text in ("wire", "iban", "eurozone", "savings", "money", "bank", "xfer"):
        found = scores(words, text)
        assert found[0] > 0
        assert not any(found[1:])


def test_an_option_that_all_tools_of_a_server_share_finds_none_of_them() -> None:
    words = Bm25()
    schema: dict[str, Any] = {"properties": {"tenant": {}}}
    add(words, [tool("cloud", f"op{number}", f"thing{number}", inputSchema=schema) for number in range(6)])
    assert "tenant" not in words
    assert not any(scores(words, "tenant"))


def test_an_option_that_only_some_tools_of_a_server_have_finds_them() -> None:
    words = Bm25()
    schema: dict[str, Any] = {"properties": {"tenant": {}}}
    add(words, [tool("cloud", f"op{number}", inputSchema=schema if number < 2 else None) for number in range(6)])
    assert [score > 0 for score in scores(words, "tenant")] == [True, True, False, False, False, False]


def test_saying_nothing_but_a_keyword_again_and_again_is_saying_it_once() -> None:
    words = Bm25()
    add(words, [tool("s", f"t{times}", "send email " * times) for times in (1, 4, 5, 500)])
    assert len(set(scores(words, "send email"))) == 1


def test_a_keyword_more_than_twice_between_other_words_costs_more_than_it_gains() -> None:
    words = Bm25()
    other = "alpha bravo charlie delta echo foxtrot golf hotel india juliet"
    add(words, [tool("s", f"t{times}", f"{other} {'email ' * times}") for times in (2, 3, 4, 5)])
    found = scores(words, "email")
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 4


def test_a_rare_word_tells_more_than_one_that_many_tools_hold() -> None:
    words = Bm25()
    add(words, [tool("s", f"t{number}", "list files" if number else "list planets") for number in range(10)])
    assert words.rarity("planet") > words.rarity("file") > words.rarity("list")
    assert words.rarity("unheard") > words.rarity("planet")


texts = st.lists(st.sampled_from("send mail list file get issue".split()), max_size=6).map(" ".join)
servers = st.lists(st.lists(texts, min_size=1, max_size=4), min_size=1, max_size=6)


def tools_of(server: int, described: Sequence[str]) -> list[Tool]:
    return [tool(f"s{server}", f"t{number}", text) for number, text in enumerate(described)]


@given(servers)
def test_a_block_touches_only_its_own_words_and_leaves_no_trace(described: list[list[str]]) -> None:
    words = Bm25()
    for server, own in enumerate(described):
        before = postings(words)
        block = add(words, tools_of(server, own))
        after = postings(words)
        changed = {term for term in after if after[term] != before.get(term)}
        assert changed == set(block.terms)
        for term, entries in before.items():
            assert after[term][: len(entries)] == entries
        alone = add(Bm25(), tools_of(server, own))
        assert set(alone.terms) == set(block.terms)
        words.remove(block)
        assert postings(words) == before
        add(words, tools_of(server, own))


@given(servers, st.data())
def test_removing_blocks_scores_as_if_they_had_never_come(described: list[list[str]], data: st.DataObject) -> None:
    words, fresh = Bm25(), Bm25()
    leaving = data.draw(st.sets(st.sampled_from(range(len(described)))))
    blocks = [add(words, tools_of(server, own)) for server, own in enumerate(described)]
    kept: list[int] = []
    for server, block in enumerate(blocks):
        if server in leaving:
            words.remove(block)
        else:
            add(fresh, tools_of(server, described[server]))
            kept += block.numbers
    for text in ("send mail", "list", "issue s1"):
        found = scores(words, text)
        assert [found[number] for number in kept] == scores(fresh, text)
        assert sum(found) == sum(found[number] for number in kept)
    assert {term for term in terms("send mail list file get issue") if term in words} == {
        term for term in terms("send mail list file get issue") if term in fresh
    }

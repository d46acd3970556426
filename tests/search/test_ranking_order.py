"""What is asked of a ranking, whatever it is computed from: which match counts more, how long it takes, how much it holds."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import numpy as np
import pytest

from tests.fakes import spec
from tests.search.catalog import ISSUES, ids, tool
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.open_gateway import open_gateway
from toolcrib.model.reading import Identity, ServerReading
from toolcrib.model.tool import Tool
from toolcrib.model.tool_rule import ToolRule
from toolcrib.search.index import ToolIndex
from toolcrib.storage.sqlite import SqliteCatalog

VERBS = ("archive", "copy", "merge", "rename", "translate", "print", "sort", "share", "lock", "count")
NOUNS = ("invoice", "photo", "ticket", "branch", "recipe", "contract", "playlist", "sensor", "ledger", "poster")
ENDS = ("of a team", "by number", "from last week", "as a table", "in every region")
TOOLS = 10_000


@pytest.fixture(scope="module")
def crowd() -> ToolIndex:
    """As many tools as are allowed, each with a vector; what the vectors mean does not matter here."""
    index = ToolIndex()
    index.add_words(_made(number) for number in range(TOOLS))
    chance = np.random.default_rng(1)
    while waiting := index.unencoded(1_000):
        vectors = chance.normal(size=(len(waiting), index.encoder.dimensions)).astype(np.float32)
        index.put_vectors(waiting, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    return index


def _made(number: int) -> Tool:
    verb, noun, end = VERBS[number % 10], NOUNS[number // 10 % 10], ENDS[number // 100 % 5]
    schema = {"type": "object", "properties": {noun: {"type": "string", "description": f"Which {noun} to {verb}"}}}
    return tool(
        f"server-{number // 50}", f"{verb}_{noun}_{number}", f"{verb.title()} a {noun} {end}.", inputSchema=schema
    )


def order(*tools: Tool, query: str, **tags: str) -> list[str]:
    index = ToolIndex([*tools, *ISSUES], tags=lambda one: [tags[one.name]] if one.name in tags else [])
    return [id.partition(":")[2] for id in ids(index.search(query, limit=20)) if id.startswith("s:")]


def test_a_query_that_is_the_name_is_before_one_that_is_in_the_description() -> None:
    described = tool("s", "post_it", "Use it to rotate keys, when rotate keys is what you want.")
    named = tool("s", "rotate_keys", "Replace them by new ones.")

    assert order(described, named, query="rotate keys") == ["rotate_keys", "post_it"]


def test_a_query_that_is_in_the_description_is_before_one_that_is_nowhere() -> None:
    elsewhere = tool("s", "brew", "Makes coffee.")
    described = tool("s", "post_it", "Rotate keys of an account.")

    assert order(elsewhere, described, query="rotate keys") == ["post_it", "brew"]


@pytest.mark.parametrize("place", ["name", "description"])
def test_each_word_that_is_found_counts(place: str) -> None:
    def saying(key: str, words: str) -> Tool:
        return tool("s", words.replace(" ", "_")) if place == "name" else tool("s", key, f"{words.title()}.")

    both, one, none = (
        saying("a", "rotate signing things"),
        saying("b", "rotate other things"),
        saying("c", "own things"),
    )

    assert order(none, one, both, query="rotate the signing keys") == [both.name, one.name, none.name]


def test_a_tag_in_the_query_counts_and_counts_less_than_a_word_of_the_name() -> None:
    plain, tagged = tool("s", "tool_a", "Does it."), tool("s", "tool_b", "Does it.")
    named = tool("s", "payroll_run", "Does it.")

    assert order(plain, tagged, query="payroll for march", tool_b="payroll")[0] == "tool_b"
    assert order(plain, tagged, named, query="payroll for march", tool_b="payroll")[:2] == ["payroll_run", "tool_b"]


def test_a_search_of_ten_thousand_tools_takes_less_than_100_ms(crowd: ToolIndex) -> None:
    for query in ("invoice", "rename the photo of my team", "translate last week's contract and share it as a table"):
        seconds = []
        for _ in range(5):
            began = time.perf_counter()
            assert len(crowd.search(query)) == 10
            seconds.append(time.perf_counter() - began)

        # The quickest of a few, on the clock: a busy machine must not fail this, a search that waits must.
        assert min(seconds) < 0.1, query


def test_a_search_at_the_gateway_takes_less_than_100_ms_among_ten_thousand_tools(tmp_path: Path) -> None:
    """All that a caller waits for: catalog, rules, ranking and the packed answer."""
    specs = tuple(spec(f"server-{number}") for number in range(10))
    store = SqliteCatalog(Paths.of(os.environ).catalog)
    for number, one in enumerate(specs):
        made = tuple(dict(_made(number * 1_000 + at).definition) for at in range(1_000))
        reading = ServerReading(Identity("legacy", "2025-11-25"), made)
        store.save_reading(one.name, one.launch_key, reading, time.time())
    store.close()

    async def searches() -> list[float]:
        rules = (ToolRule(("*_ledger_*",), enabled=False),)
        async with open_gateway(settings=Settings(servers=specs, tool_rules=rules), read_due=False) as gateway:
            await gateway.search_tools("the first one makes the index")
            seconds = []
            for _ in range(5):
                began = time.perf_counter()
                answer = await gateway.search_tools("rename the photo of my team")
                seconds.append(time.perf_counter() - began)
                assert answer.hits
            return seconds

    assert min(asyncio.run(searches())) < 0.1


def test_the_index_of_ten_thousand_tools_is_smaller_than_100_mb(crowd: ToolIndex, tmp_path: Path) -> None:
    crowd.save(tmp_path / "index")

    assert len(crowd) == TOOLS
    assert (tmp_path / "index").stat().st_size < 100_000_000

from __future__ import annotations

import gzip
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from bench.search_quality.chart import chart
from bench.search_quality.data import (
    INTENTS,
    Asked,
    LabelledSet,
    enlarge,
    find_sets,
    mistyped,
    original_server,
    read_set,
    sample,
)
from bench.search_quality.measure import Run, ask, summed_up
from bench.search_quality.ours import Shipped, Words
from bench.search_quality.ranker import Ranked, best
from bench.search_quality.rankers import NEEDED, installed
from bench.search_quality.resources import in_a_child
from bench.search_quality.results import Results, read_results
from bench.search_quality.rivals import Fused, PlainBm25, Substrings
from bench.search_quality.tables import document
from bench.search_quality.trust import nothing_fits
from bench.search_quality.vectors import VectorCache, Vectors
from toolcrib.model.tool import Tool

NO_CACHE = VectorCache(None)
ROWS = [
    ("git", "commit", "Record changes to the repository."),
    ("git", "log", "Show who wrote the last commits."),
    ("mail", "send", "Send a letter to somebody."),
]


def tools() -> list[Tool]:
    return [Tool.from_mcp(server, {"name": name, "description": text}) for server, name, text in ROWS]


def write_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one known labelled set, and the intents over its tools."""
    rows: list[dict[str, object]] = [
        {"id": f"{server}/{name}", "server": server, "name": name, "description": text, "parameters": {}}
        for server, name, text in ROWS
    ]
    again = {**rows[0], "id": "twin"}
    for folder in ("azure_mcp", "toucan"):
        write_lines(tmp_path / folder / "tools.jsonl.gz", [*rows, again])
    write_lines(tmp_path / "azure_mcp" / "queries.jsonl.gz", [{"id": 1, "query": "commit the repository"}])
    qrels = [{"query_id": 1, "tool_id": id} for id in ("git/commit", "git/log", "twin")]
    write_lines(tmp_path / "azure_mcp" / "qrels.jsonl.gz", list(qrels))
    write_lines(tmp_path / INTENTS / "validation.jsonl", [{"id": "mail/send", "q": ["letter", "write to Ada", "post"]}])
    return tmp_path


def test_a_folder_of_sets_and_a_set_itself_are_both_found(data: Path) -> None:
    assert [folder.name for folder in find_sets([data], [])] == ["azure_mcp", INTENTS]
    assert find_sets([data / "azure_mcp"], []) == [data / "azure_mcp"]
    assert [folder.name for folder in find_sets([data], [INTENTS])] == [INTENTS]


def test_tools_of_one_server_and_name_count_as_one(data: Path) -> None:
    labelled = read_set(data / "azure_mcp")
    assert len(labelled.tools) == 3
    assert [asked.wanted for asked in labelled.queries] == [{0, 1}]


def test_intents_ask_for_tools_of_toucan_in_three_ways(data: Path) -> None:
    labelled = read_set(data / INTENTS)
    assert [(asked.kind, asked.wanted) for asked in labelled.queries] == [
        ("keywords", {2}),
        ("goal", {2}),
        ("step", {2}),
    ]


def test_a_sample_keeps_the_order_and_can_be_repeated(data: Path) -> None:
    labelled = read_set(data / INTENTS)
    first, second = (sample(labelled, 2, random.Random(1)) for _ in range(2))
    assert first.queries == second.queries
    assert [asked for asked in labelled.queries if asked in first.queries] == first.queries


def test_typos_change_queries_and_nothing_else(data: Path) -> None:
    labelled = read_set(data / "azure_mcp")
    typed = mistyped(labelled, random.Random(1))
    assert typed.queries[0].text != labelled.queries[0].text
    assert (typed.tools, typed.queries[0].wanted) == (labelled.tools, labelled.queries[0].wanted)
    assert typed.digest != labelled.digest


def test_an_enlarged_catalog_repeats_tools_on_servers_of_their_own() -> None:
    many = enlarge(tools(), 8)
    assert len({tool.id for tool in many}) == 8
    assert [original_server(tool.server) for tool in many[3:6]] == ["git", "git", "mail"]


def test_the_best_scores_come_first_and_equal_ones_by_number() -> None:
    scores = np.array([0.0, 2.0, 1.0, 2.0, 1.0, 1.0], np.float32)
    assert [hit.number for hit in best(scores, 4)] == [1, 3, 2, 4]
    assert [hit.number for hit in best(scores, 10)] == [1, 3, 2, 4, 5]


@pytest.mark.parametrize("make", [Shipped, Words, Substrings, PlainBm25])
def test_every_lexical_ranker_finds_what_is_asked_for_in_its_words(make: type[PlainBm25]) -> None:
    ranker = make(NO_CACHE)
    ranker.build(tools())
    assert ranker.rank("send a letter")[0].number == 2


def test_plain_bm25_scores_as_by_hand() -> None:
    ranker = PlainBm25(NO_CACHE)
    ranker.build([Tool.from_mcp("", {"name": name}) for name in ("red", "red_blue", "green")])
    # Lengths 1, 2, 1; "blue" is in one of three documents, once.
    dilution = 0.25 + 0.75 * 2 / (4 / 3)
    expected = np.log(1 + 2.5 / 1.5) * 2.5 / (1 + 1.5 * dilution)
    assert ranker.rank("blue") == [(1, pytest.approx(expected))]


def test_fusion_prefers_what_both_lists_have() -> None:
    class Fixed(PlainBm25):
        def __init__(self, scores: list[float]) -> None:
            super().__init__(NO_CACHE)
            self._scores = np.array(scores, np.float32)

        def rank(self, query: str, limit: int = 10) -> list[tuple[int, float]]:  # type: ignore[override]
            return best(self._scores, limit)

    fused = Fused((Fixed([3, 2, 0, 0]), Fixed([0, 2, 3, 0])))
    found = fused.rank("anything")
    assert [hit.number for hit in found] == [1, 0, 2]
    assert found[0].score == pytest.approx(2 / 62)


def test_equal_texts_are_encoded_once_and_found_again_in_the_cache(tmp_path: Path) -> None:
    seen: list[str] = []

    def encode(texts: list[str]) -> Vectors:
        seen.extend(texts)
        return np.array([[len(text), 1] for text in texts], np.float32)

    for _ in range(2):
        found = VectorCache(tmp_path).encode("lengths", ["a", "bcd", "a"], encode)
        assert found.tolist() == [[1, 1], [3, 1], [1, 1]]
    assert seen == ["a", "bcd"]


def run_of(labelled: LabelledSet, name: str, make: type[PlainBm25]) -> Run:
    ranker = make(NO_CACHE)
    ranker.build(labelled.tools)
    return summed_up(labelled, name, ask(ranker, labelled.queries), {}, typos=False)


def test_what_was_measured_is_read_back_as_it_was(data: Path, tmp_path: Path) -> None:
    results = Results(runs=[run_of(read_set(data / "azure_mcp"), "bm25", PlainBm25)])
    results.write(tmp_path / "earlier.json")
    assert read_results([tmp_path / "earlier.json"]) == results


def test_an_earlier_run_is_compared_with_only_where_it_asked_the_same_queries(data: Path) -> None:
    labelled = read_set(data / INTENTS)
    earlier = Results(runs=[run_of(labelled, "bm25", PlainBm25)])
    same, other = (
        Results(runs=[run_of(asked, "toolcrib", Shipped)])
        for asked in (labelled, sample(labelled, 1, random.Random(1)))
    )
    for now in (same, other):
        now.take_over(earlier)
    assert [run.ranker for run in same.runs] == ["toolcrib", "bm25"]
    assert [run.ranker for run in other.runs] == ["toolcrib"]


def test_tables_show_every_ranker_that_was_run(data: Path) -> None:
    labelled = read_set(data / "azure_mcp")
    results = Results(runs=[run_of(labelled, "toolcrib", Shipped), run_of(labelled, "bm25", PlainBm25)])
    shown = document(results)
    assert "| toolcrib | 100.0 |" in shown
    assert "| bm25 | +0.0 [0.0, 0.0], hit +0.0 [0.0, 0.0] |" in shown


def test_the_chart_has_a_bar_for_each_ranker_and_is_well_formed(data: Path) -> None:
    labelled = read_set(data / INTENTS)
    results = Results(runs=[run_of(labelled, "toolcrib", Shipped), run_of(labelled, "bm25", PlainBm25)])
    names = [text.text for text in ET.fromstring(chart(results)).iter("{http://www.w3.org/2000/svg}text")]
    assert {"toolcrib", "bm25"} < set(names)


def test_a_ranker_that_knows_when_nothing_fits_gets_the_whole_area() -> None:
    class Certain(PlainBm25):
        def build(self, tools: Sequence[Tool]) -> None:
            self.servers = {tool.server for tool in tools}

        def rank(self, query: str, limit: int = 10) -> list[Ranked]:
            return [Ranked(0, float(query in self.servers))]

    many = [Tool.from_mcp(f"server {number}", {"name": "tool"}) for number in range(100)]
    queries = [Asked(tool.server, frozenset({number})) for number, tool in enumerate(many)]
    found = nothing_fits(LabelledSet("made up", many, queries), Certain(NO_CACHE), random.Random(1), catalogs=2)
    assert found == {"auroc": 1, "present": 100, "absent": 100}


def test_missing_packages_leave_a_ranker_out_and_say_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(NEEDED, "fastmcp", "a_package_that_nobody_has")
    assert installed(["bm25", "fastmcp"]) == ["bm25"]
    assert "a_package_that_nobody_has is not installed" in capsys.readouterr().out


def test_an_unscored_ranker_has_no_say_on_whether_nothing_fits(data: Path) -> None:
    class Silent(PlainBm25):
        def rank(self, query: str, limit: int = 10) -> list[Ranked]:
            return [Ranked(0, math.nan)]

    assert nothing_fits(read_set(data / INTENTS), Silent(NO_CACHE), random.Random(1), catalogs=1) == {}


def test_our_index_ranks_the_same_when_it_comes_from_the_cache(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        shipped = Shipped(VectorCache(tmp_path))
        shipped.build(tools())
        found.append((shipped.rank("send a letter"), shipped.packed("send a letter"), shipped.answer("send a letter")))
    assert found[0] == found[1]
    assert '"tool":"send"' in found[0][2]


def test_the_price_of_a_ranker_is_measured_in_a_process_of_its_own(data: Path) -> None:
    found = in_a_child(data / INTENTS, "bm25", None, tools=30)
    assert found["tools"] == 30
    assert {"build s", "memory MB", "p50 ms", "p99 ms"} <= found.keys()

"""Fit how words and meaning are weighed, and what a score is worth: `python -m training.fusion DATA --cache FOLDER`.

Prints (with OPENBLAS_NUM_THREADS=1 in the environment, for numpy's sake) the constants of `toolcrib.search.fusion`, the figures with them, and those with each set left out of the fitting.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolcrib.errors import IndexUnreadable
from toolcrib.model.tool import Tool
from toolcrib.search import fusion
from toolcrib.search.encoder import Encoder
from toolcrib.search.index import ToolIndex
from training.corpus import DEV_SETS, INTENTS, DevSet, Entry, labelled_queries, read_entries, validation_queries
from training.descent import descend
from training.typos import mistype

DEPTH = 10
SEED = 20_261_115
# "Nothing fits" is learnt on small catalogs: so many servers, drawn so often.
CATALOG_SERVERS, CATALOGS, CATALOG_QUERIES = 50, 25, 60

CLIMBS = 3

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """One query's candidates: a row of features each, which of them are right, and how many would be."""

    rows: Floats
    is_right: NDArray[np.bool_]
    right: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="where indexes are kept between runs")
    parser.add_argument("--from-shipped", action="store_true", help="climb from the weights that ship")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    sets = {name: _read(options.data, name) for name in (*DEV_SETS, "toucan")}
    indexes = {name: _index(options.cache, name, entries) for name, (entries, _) in sets.items()}
    asked = {name: list(_asked(indexes[name], *sets[name])) for name in sets}
    weights = climbed(
        asked, fusion.WEIGHTS.astype(np.float64) if options.from_shipped else fit_weights(list(asked.values()))
    )
    print("WEIGHTS", np.round(weights, 2).tolist())
    print("fitted on all  ", _line(asked, lambda _: weights))
    print("shipped        ", _line(asked, lambda _: fusion.WEIGHTS.astype(np.float64)))
    left_out = {name: fit_weights([own for other, own in asked.items() if other != name]) for name in asked}
    print("each left out  ", _line(asked, left_out.__getitem__))
    mistyped = {name: list(_asked(indexes[name], *sets[name], typos=True)) for name in sets}
    print("mistyped       ", _line(mistyped, lambda _: weights))
    absent = list(_from_small_catalogs(indexes["toucan"], *sets["toucan"]))
    chance = fit_chances([*asked.values(), *[absent] * 2], weights)
    print("CHANCE", np.round(chance, 3).tolist())
    _tell_reliability([one for own in asked.values() for one in own], weights, chance)
    _tell_flagged(asked, absent, weights, chance)
    print(f"nothing fits, AUROC {_auroc(absent, weights, chance):.3f}")


def fit_weights(sets: Sequence[Sequence[Asked]], steps: int = 150) -> Floats:
    """Weights under which the right candidates stand out (softmax over each query's candidates), all sets alike."""
    weights = fusion.WEIGHTS.astype(np.float64)
    batches = [_padded([one for one in own if one.is_right.any()]) for own in sets]

    def gradient(weights: Floats) -> Floats:
        return np.mean([_softmax_gradient(weights, *batch) for batch in batches], axis=0)

    return descend(weights, gradient, steps=steps, rate=0.05, long_memory=0.99)


def climbed(asked: Mapping[str, Sequence[Asked]], weights: Floats) -> Floats:
    """The weights changed one at a time as long as the figures themselves get better."""
    best = _overall(asked, weights)
    for _ in range(CLIMBS):
        for place in range(len(weights)):
            for factor in (0.75, 0.9, 1.1, 1.3):
                tried = weights.copy()
                tried[place] *= factor
                figure = _overall(asked, tried)
                if figure > best + 0.005:
                    best, weights = figure, tried
    return weights


def _overall(asked: Mapping[str, Sequence[Asked]], weights: Floats) -> float:
    """nDCG@10 and hit@1, half the labelled sets, half the unseen servers of the intents (as in `figures.overall`)."""
    figures = {name: float(np.mean(_quality(own, weights))) for name, own in asked.items()}
    return (float(np.mean([figures[name] for name in DEV_SETS])) + figures["toucan"]) / 2


def fit_chances(sets: Sequence[Sequence[Asked]], weights: Floats, steps: int = 1_500) -> Floats:
    """A logistic curve for being right, over the best ten candidates of each query, all sets alike."""
    tables = [_top_signs(own, weights) for own in sets]

    def gradient(chance: Floats) -> Floats:
        parts = []
        for signs, is_right in tables:
            wrongness = 1 / (1 + np.exp(-signs @ chance)) - is_right
            parts.append(signs.T @ wrongness / len(signs))
        return np.mean(parts, axis=0)

    return descend(fusion.CHANCE.astype(np.float64), gradient, steps=steps, rate=0.05, long_memory=0.99)


def _padded(asked: Sequence[Asked]) -> tuple[Floats, NDArray[np.bool_], Floats]:
    width = max(len(one.rows) for one in asked)
    rows = np.zeros((len(asked), width, asked[0].rows.shape[1]))
    is_there = np.zeros((len(asked), width), dtype=np.bool_)
    target = np.zeros((len(asked), width))
    for number, one in enumerate(asked):
        count = len(one.rows)
        rows[number, :count], is_there[number, :count] = one.rows, True
        target[number, :count] = one.is_right / one.is_right.sum()
    return rows, is_there, target


def _softmax_gradient(weights: Floats, rows: Floats, is_there: NDArray[np.bool_], target: Floats) -> Floats:
    scores = np.where(is_there, rows @ weights, -np.inf)
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = scores / scores.sum(axis=1, keepdims=True)
    slope: Floats = np.einsum("qcf,qc->f", rows, expected - target) / len(rows)
    return slope


def _top_signs(asked: Sequence[Asked], weights: Floats) -> tuple[Floats, Floats]:
    signs, right = [], []
    for one in asked:
        fused = one.rows @ weights
        best = np.argsort(-fused)[:DEPTH]
        signs.append(fusion.signs(one.rows, fused)[best])
        right.append(one.is_right[best])
    return np.concatenate(signs), np.concatenate(right).astype(np.float64)


def _read(data: Path, name: str) -> tuple[list[Entry], DevSet]:
    entries = read_entries(data, (name,))
    numbers = {(entry.pool, entry.key): number for number, entry in enumerate(entries)}
    dev = validation_queries(data, numbers) if name == "toucan" else labelled_queries(data, name, numbers)
    return entries, dev


def _index(cache: Path, name: str, entries: Sequence[Entry]) -> ToolIndex:
    """The set's tools, encoded once for each encoder."""
    path = cache / f"{name}-{Encoder.shipped().identity}.index"
    try:
        return ToolIndex.load(path)
    except IndexUnreadable:
        index = ToolIndex(_apart(entries))
        index.save(path)
        return index


def _apart(entries: Sequence[Entry]) -> Iterator[Tool]:
    """Tools under names of their own: two of one server and name would be one to the index."""
    seen: dict[str, int] = {}
    for entry in entries:
        count = seen[entry.tool.id] = seen.get(entry.tool.id, 0) + 1
        yield entry.tool if count == 1 else Tool(entry.tool.server, f"{entry.tool.name} {count}", entry.tool.definition)


def _asked(index: ToolIndex, entries: Sequence[Entry], dev: DevSet, *, typos: bool = False) -> Iterator[Asked]:
    ids = [tool.id for tool in _apart(entries)]
    chance = random.Random(SEED)
    for text, right in dev.queries:
        yield _one(index, mistype(text, chance) if typos else text, {ids[number] for number in right})


def _one(index: ToolIndex, text: str, right: set[str]) -> Asked:
    evidence = index.evidence(text)
    is_right = np.array([index.tool(number).id in right for number in evidence.numbers.tolist()], dtype=np.bool_)
    return Asked(fusion.features(evidence).astype(np.float64), is_right, len(right))


def _from_small_catalogs(whole: ToolIndex, entries: Sequence[Entry], dev: DevSet) -> Iterator[Asked]:
    """Queries asked of a few servers only: half of them have their tool there, half have not."""
    chance = random.Random(SEED)
    tools = list(_apart(entries))
    by_server: dict[str, list[int]] = {}
    for number, tool in enumerate(tools):
        by_server.setdefault(tool.server, []).append(number)
    asking = {server: [q for q in dev.queries if tools[q[1][0]].server == server] for server in by_server}
    held_back = sorted(server for server, own in asking.items() if own)
    for _ in range(CATALOGS):
        present = chance.sample(held_back, len(held_back) // 3)
        others = chance.sample(
            sorted(set(by_server) - set(held_back)), CATALOG_SERVERS - len(present) % CATALOG_SERVERS
        )
        chosen = [*present, *others][:CATALOG_SERVERS]
        index = whole.part(chosen)
        there = [query for server in chosen for query in asking[server]]
        away = [query for server in held_back if server not in chosen for query in asking[server]]
        for queries in (there, away):
            for text, right in chance.sample(queries, min(len(queries), CATALOG_QUERIES)):
                yield _one(index, text, {tools[number].id for number in right})


def _line(asked: Mapping[str, Sequence[Asked]], weights: Callable[[str], Floats]) -> str:
    figures = {name: _quality(own, weights(name)) for name, own in asked.items()}
    mean = np.mean([figures[name][0] for name in DEV_SETS])
    cells = [f"{name if name != 'toucan' else INTENTS} {ndcg:.1f}/{hit:.1f}" for name, (ndcg, hit) in figures.items()]
    return f"{'  '.join(cells)}  mean of 5 {mean:.2f}"


def _quality(asked: Sequence[Asked], weights: Floats) -> tuple[float, float]:
    """nDCG@10 and hit@1 in percent."""
    discounts = 1 / np.log2(np.arange(DEPTH) + 2)
    gains, hits = [], []
    for one in asked:
        best = one.is_right[np.argsort(-(one.rows @ weights), kind="stable")[:DEPTH]]
        gains.append((best * discounts[: len(best)]).sum() / discounts[: min(one.right, DEPTH)].sum())
        hits.append(best[0])
    return 100 * float(np.mean(gains)), 100 * float(np.mean(hits))


def _tell_reliability(asked: Sequence[Asked], weights: Floats, chance: Floats) -> None:
    signs, right = _top_signs(asked, weights)
    said = 1 / (1 + np.exp(-signs @ chance))
    for low in np.arange(0, 1, 0.1):
        inside = (said >= low) & (said < low + 0.1)
        if inside.any():
            print(
                f"  said {low:.1f} to {low + 0.1:.1f}: {inside.sum():6d} hits, {said[inside].mean():.2f} said, {right[inside].mean():.2f} right"
            )


def _tell_flagged(
    asked: Mapping[str, Sequence[Asked]], small: Sequence[Asked], weights: Floats, chance: Floats
) -> None:
    """Which share of queries would be told that nothing fits, by where the bar is."""
    kinds = {
        **asked,
        "small, tool is there": [one for one in small if one.is_right.any()],
        "small, tool is not": [one for one in small if not one.is_right.any()],
    }
    for name, own in kinds.items():
        best = 1 / (1 + np.exp(-np.array([_best_chance(one, weights, chance) for one in own])))
        shares = "  ".join(f"below {bar:.2f}: {(best < bar).mean():.3f}" for bar in (0.05, 0.08, 0.1, 0.15, 0.2))
        print(f"  {name}: mean {best.mean():.2f}  {shares}")


def _auroc(asked: Sequence[Asked], weights: Floats, chance: Floats) -> float:
    """How well the best hit's chance tells queries whose tool is there from those whose tool is not."""
    best = [_best_chance(one, weights, chance) for one in asked]
    is_there = np.array([one.is_right.any() for one in asked])
    order = np.argsort(np.argsort(best, kind="stable"), kind="stable")
    there = int(is_there.sum())
    return float((order[is_there].sum() - there * (there - 1) / 2) / (there * (len(asked) - there)))


def _best_chance(one: Asked, weights: Floats, chance: Floats) -> float:
    fused = one.rows @ weights
    return float((fusion.signs(one.rows, fused) @ chance)[np.argmax(fused)])


if __name__ == "__main__":
    main()

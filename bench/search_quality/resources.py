"""What a ranker costs: memory, and the time to store and load an index."""

from __future__ import annotations

import ctypes
import gc
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from bench.process import resident_megabytes
from bench.search_quality.data import Asked, enlarge, read_set
from bench.search_quality.measure import ask, speed
from bench.search_quality.ours import Shipped
from bench.search_quality.rankers import RANKERS
from bench.search_quality.vectors import VectorCache
from toolcrib.search.index import ToolIndex

QUERIES_ASKED = 200


def in_a_child(folder: Path, name: str, cache: Path | None, tools: int | None = None) -> dict[str, float]:
    """`costs`, in a process of its own, so that nothing else is counted."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
        return child.submit(costs, folder, name, cache, tools).result()


def costs(folder: Path, name: str, cache_folder: Path | None, count: int | None) -> dict[str, float]:
    """Resident memory that building and asking adds to what the tools take, and the time of both."""
    labelled = read_set(folder)
    tools = labelled.tools if count is None else enlarge(labelled.tools, count)
    queries = labelled.queries[:: max(1, len(labelled.queries) // QUERIES_ASKED)]
    before = resident()
    cache = VectorCache(cache_folder)
    start = time.perf_counter()
    ranker = RANKERS[name](cache)
    ranker.build(tools)
    built = time.perf_counter() - start + cache.spared_seconds
    times = speed(ask(ranker, queries))
    grown = resident() - before
    found = {"tools": float(len(tools)), "build s": built, "memory MB": grown, **times}
    return {**found, **(loading(ranker.index, queries) if isinstance(ranker, Shipped) else {})}


def resident() -> float:
    """Megabytes in use, after what is free was given back: room left over from reading would hide what comes next."""
    gc.collect()
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(0)
    return resident_megabytes(os.getpid())


def loading(index: ToolIndex, queries: Sequence[Asked]) -> dict[str, float]:
    """How long our index takes to store and to load again, and to answer for the first time after that."""
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        file = Path(folder) / "index"
        start = time.perf_counter()
        index.save(file)
        stored = time.perf_counter()
        loaded = ToolIndex.load(file)
        ready = time.perf_counter()
        loaded.search(queries[0].text)
        asked = time.perf_counter()
    return {"save s": stored - start, "load s": ready - stored, "first query ms": (asked - ready) * 1_000}

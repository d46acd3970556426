"""Runs of pytest that need no second each to import what all of them use."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Mapping
from multiprocessing.context import BaseContext
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Nothing of ours: a mitigation is taken away before the modules that use it are imported.
PRELOADED = ["pytest", "hypothesis", "mcp"]
OPTIONS = ("-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov",
           "-W", "ignore::pytest.PytestAssertRewriteWarning")  # fmt: skip
BOUND_SECONDS = 170.0


def said_by_pytest(arguments: list[str], output: Path) -> str:
    """What pytest prints when it is run in the project's folder, in a process of its own."""
    process = _context().Process(target=_run, args=(arguments, dict(os.environ), output))  # type: ignore[attr-defined]
    process.start()
    process.join(BOUND_SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
    process.close()
    return output.read_text(encoding="utf-8")


def _context() -> BaseContext:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def _run(arguments: list[str], environment: Mapping[str, str], output: Path) -> None:
    # The process that this one was forked from has the environment of the first test that asked for one.
    os.environ.clear()
    os.environ.update(environment)
    _stop_tracing()
    os.chdir(ROOT)
    with output.open("wb") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    pytest.main([*arguments, *OPTIONS])


def _stop_tracing() -> None:
    """These runs are there to fail, some by the time they take; what they cover tells nothing."""
    os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
    threading.settrace(None)  # type: ignore[arg-type]
    sys.settrace(None)

"""Small programs to run as children, what was heard of them, and who is still running."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolcrib.upstream.child import Child
from toolcrib.upstream.stderr_ring import StderrRing
from toolcrib.upstream.watchdog import Watchdog
from toolcrib.upstream.watchdog_process import read_process, read_processes

PROGRAMS = Path(__file__).with_name("programs")


async def eventually(predicate: Callable[[], Any], seconds: float = 10.0) -> None:
    """Wait until `predicate` holds; fails when it does not within `seconds`."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not predicate():
        assert asyncio.get_running_loop().time() < deadline, f"still not so after {seconds} s"
        await asyncio.sleep(0.01)


def program(name: str, *arguments: object) -> list[str]:
    """The command line of one of our programs."""
    return [sys.executable, "-I", "-S", str(PROGRAMS / name), *map(str, arguments)]


def is_running(pid: int) -> bool:
    return read_process(pid) is not None


def members(group: int) -> list[int]:
    """The living processes of a group."""
    return [pid for pid, process in read_processes().items() if process.group == group]


@dataclass
class Heard:
    """What a child said, and how it ended."""

    lines: list[bytes] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    stderr: StderrRing = field(default_factory=StderrRing)

    @property
    def first(self) -> Any:
        return json.loads(self.lines[0])


@asynccontextmanager
async def guarded() -> AsyncIterator[Watchdog]:
    watchdog = Watchdog()
    try:
        yield watchdog
    finally:
        watchdog.close()


@asynccontextmanager
async def running(*argv: str, max_line_bytes: int = 1_000_000) -> AsyncIterator[tuple[Child, Heard]]:
    """A child that is stopped at the end, whatever happened to it."""
    heard = Heard()
    async with guarded() as watchdog:
        child = await Child.spawn(
            argv,
            server="test",
            env=dict(os.environ),
            cwd=None,
            on_line=heard.lines.append,
            on_exit=heard.reasons.append,
            stderr=heard.stderr,
            watchdog=watchdog,
            max_line_bytes=max_line_bytes,
        )
        try:
            yield child, heard
        finally:
            await child.stop()

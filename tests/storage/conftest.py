from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import toolcrib

_LONGEST_LIFE_SECONDS = 60.0


class Child:
    """A script of this folder as a process of its own; killed when it lives too long, so no wait is endless."""

    def __init__(self, script: str, *arguments: object) -> None:
        command = [sys.executable, str(Path(__file__).with_name(script)), *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(Path(toolcrib.__file__).parents[1])}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self._end = threading.Timer(_LONGEST_LIFE_SECONDS, self._process.kill)
        self._end.daemon = True
        self._end.start()

    def go_on(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def rest(self) -> list[str]:
        output, _ = self._process.communicate(timeout=_LONGEST_LIFE_SECONDS)
        assert self._process.returncode == 0
        return output.splitlines()

    def stop(self) -> None:
        self._end.cancel()
        self._process.kill()
        with self._process:
            self._process.wait(timeout=_LONGEST_LIFE_SECONDS)


@pytest.fixture
def start_child() -> Iterator[Callable[..., Child]]:
    """Starts a script and waits until it stands ready; whatever still runs at the end is stopped."""
    children: list[Child] = []

    def start(script: str, *arguments: object) -> Child:
        children.append(Child(script, *arguments))
        assert children[-1].line() == "ready"
        return children[-1]

    yield start
    for child in children:
        child.stop()

"""What the gateway does about the memory of its own process, seen from a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Memory that was freed below some that is still in use stays with the process until it is given back.
PROGRAM = """
import sys
from pathlib import Path
from threading import Thread
from toolcrib.server.process_memory import give_back, share_memory

def resident():
    if sys.platform != "linux":
        return 0
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def work():
    held = [bytearray(100_000) for _ in range(200)]
    kept.append(held.pop())

share_memory()
kept = []
{run}
before = resident()
give_back()
print(before - resident(), len(kept[0]))
"""
HERE, IN_A_THREAD = "work()", "thread = Thread(target=work); thread.start(); thread.join()"
FREED = 19_000_000
AFTER_LOADING = """
import gc
from toolcrib.cli.main import main
from toolcrib.server.process_memory import settle

usual = gc.get_threshold()
main(["--config", "missing.yaml", "list"])
loading = gc.get_threshold()
settle()
print(loading[0] > usual[0], gc.get_threshold())
"""


@pytest.mark.parametrize("run", [HERE, IN_A_THREAD], ids=["here", "in a thread"])
def test_freed_memory_is_given_back_and_what_is_in_use_stays(run: str) -> None:
    program = PROGRAM.replace("{run}", run)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    given_back, in_use = map(int, ended.stdout.split())
    assert in_use == 100_000
    assert given_back > FREED * 0.8 or sys.platform != "linux"


def test_a_gateway_that_serves_looks_for_garbage_at_the_usual_rate_again() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", AFTER_LOADING], capture_output=True, text=True, timeout=30, check=True
    )
    assert ended.stdout.splitlines()[-1] == "True (700, 10, 10)"

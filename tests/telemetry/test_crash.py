from __future__ import annotations

import subprocess
import sys

import pytest

SECRET = "plain-lily-one"
SET_UP = f"""
import os, threading
from toolcrib.masking.known import KnownSecrets
from toolcrib.masking.masker import Masker
from toolcrib.telemetry.logs import log_to_stderr, mask_in_logs
log_to_stderr(verbose=0, quiet=False, env={{}})
mask_in_logs(Masker(KnownSecrets({{{SECRET!r}: "${{LILY}}"}})))
def fail():
    raise ValueError("it was {SECRET} \\x1b[31m")
class Unraisable:
    def __del__(self):
        fail()
"""


@pytest.mark.parametrize(
    "crash",
    ["fail()", "t = threading.Thread(target=fail); t.start(); t.join()", "x = Unraisable(); del x"],
    ids=["main", "thread", "finalizer"],
)
def test_a_crash_tells_no_secret(crash: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SET_UP + crash], capture_output=True, text=True, timeout=50, check=False
    )

    assert "ValueError: it was ${LILY}" in ran.stderr
    assert "Traceback" in ran.stderr
    assert f"was {SECRET} \x1b" not in ran.stderr
    assert "\x1b" not in ran.stderr


def test_a_long_crash_is_not_cut_within_a_secret() -> None:
    crash = f"raise ValueError('{SECRET}' + ' y' * 9_996)"
    ran = subprocess.run(
        [sys.executable, "-c", SET_UP + crash], capture_output=True, text=True, timeout=50, check=False
    )

    assert len(ran.stderr) <= 20_001
    assert "-one y" not in ran.stderr

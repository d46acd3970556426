"""Every threat of docs/security.md has a test that fails when its mitigation is taken away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.threats.forked_pytest import said_by_pytest
from tests.threats.removers import REMOVERS, THREATS, Remover

HERE = Path(__file__).parent


@pytest.mark.parametrize("threat", THREATS)
def test_every_threat_has_a_test_and_what_takes_its_mitigation_away(threat: str) -> None:
    removers = [remover for remover in REMOVERS if remover.threat == threat]
    assert removers, f"no remover for {threat} in removers.py"
    for remover in removers:
        assert file_of(remover), f"no test {remover.proof} in tests/threats/test_{threat.lower()}_*.py"


@pytest.mark.timeout(180)
@pytest.mark.parametrize("remover", REMOVERS, ids=lambda remover: remover.proof)
def test_without_its_mitigation_the_test_of_a_threat_fails(remover: Remover, tmp_path: Path) -> None:
    file = file_of(remover)
    assert file, f"no test {remover.proof}"
    said = said_by_pytest([f"{file}::{remover.proof}", "--without", remover.proof], tmp_path / "said.txt")
    # "1 failed", not an error of its set-up, nor a test that was not found.
    assert re.search(r"^\d+ failed(, \d+ passed)? in", said, re.MULTILINE), said


def file_of(remover: Remover) -> Path | None:
    defined = re.compile(rf"^(?:async )?def {remover.proof}\(", re.MULTILINE)
    files = HERE.glob(f"test_{remover.threat.lower()}_*.py")
    return next((file for file in files if defined.search(file.read_text(encoding="utf-8"))), None)

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.adoption.home import Home

CLAUDE = Path(__file__).parent / "programs" / "claude.py"


@pytest.fixture
def home() -> Home:
    return Home()


@pytest.fixture(autouse=True)
def _without_claude_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is installed on this machine, the real program is not run."""
    folders = os.environ["PATH"].split(os.pathsep)
    monkeypatch.setenv("PATH", os.pathsep.join(one for one in folders if not (Path(one) / "claude").exists()))


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in for Claude Code's program, installed."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\n{CLAUDE.read_text('utf-8')}", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return program

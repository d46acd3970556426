from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.config.trust import TrustedFiles


@dataclass
class Machine:
    """A made-up user: a home, a working directory and a folder for Toolcrib's own files."""

    home: Path
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> Paths:
        return Paths.of(self.env)

    @property
    def trusted(self) -> TrustedFiles:
        return TrustedFiles(self.paths.trusted_files)

    def load(self, path: Path | None = None, **more: str) -> Settings:
        return load_settings(path, env={**self.env, **more}, cwd=self.cwd, home=self.home)

    def load_text(self, text: str, name: str = "given.yaml", **more: str) -> Settings:
        """Load a file given by `--config`."""
        return self.load(write(self.cwd / "elsewhere" / name, text), **more)

    def load_data(self, data: object, **more: str) -> Settings:
        return self.load_text(json.dumps(data), "given.json", **more)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    home, cwd = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    cwd.mkdir()
    env: Mapping[str, str] = {"HOME": str(home), "TOOLCRIB_HOME": str(home / "toolcrib-files")}
    return Machine(home, cwd, dict(env))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"

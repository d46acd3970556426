"""Where Toolcrib keeps its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True, slots=True)
class Paths:
    """The three folders, and the files in them; nothing is created by asking."""

    config_dir: Path
    state_dir: Path
    cache_dir: Path

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Paths:
        """The platform's own folders, or all of them under `TOOLCRIB_HOME`; the cache can be moved on its own."""
        root = env.get("TOOLCRIB_HOME")
        base = cls.under(Path(root).expanduser()) if root else cls._of_the_platform()
        moved = env.get("TOOLCRIB_CACHE_DIR") or env.get("CCOS_MCP_CACHE_DIR")
        return cls(base.config_dir, base.state_dir, Path(moved).expanduser()) if moved else base

    @classmethod
    def under(cls, root: Path) -> Paths:
        return cls(root, root, root / "cache")

    @classmethod
    def _of_the_platform(cls) -> Paths:
        places = platformdirs.PlatformDirs("toolcrib", appauthor=False)
        return cls(places.user_config_path, places.user_state_path, places.user_cache_path)

    @property
    def config_file(self) -> Path:
        """The user's own configuration, where one is written for them."""
        return self.config_dir / "toolcrib.yaml"

    @property
    def catalog(self) -> Path:
        return self.state_dir / "catalogue.db"

    @property
    def search_index(self) -> Path:
        """Where the search index is kept between runs; it can be made anew from the catalog."""
        return self.cache_dir / "search.index"

    @property
    def registry_mirror(self) -> Path:
        """A copy of what the registries list; it can be deleted at any time."""
        return self.cache_dir / "registry.db"

    @property
    def bundles_dir(self) -> Path:
        """Where MCPB files are unpacked."""
        return self.state_dir / "bundles"

    @property
    def audit_log(self) -> Path:
        return self.state_dir / "audit.jsonl"

    @property
    def token(self) -> Path:
        return self.state_dir / "token"

    @property
    def trusted_files(self) -> Path:
        return self.state_dir / "trusted.json"

    @property
    def logs_dir(self) -> Path:
        return self.state_dir / "logs"

    @property
    def capabilities_dir(self) -> Path:
        """Files for people to read, written from the catalog."""
        return self.state_dir / "capabilities"

    @property
    def results_dir(self) -> Path:
        return self.state_dir / "results"

"""Where Toolcrib keeps its files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from toolcrib.errors import ConfigurationError, Problem

NAMED_TOKENS = "tokens.json"


def expanded(path: str | Path) -> Path:
    """The path, from the home folder where it begins with `~`; ConfigurationError where no file can have that name.

    A home folder that is not known is one too: taken literally, it would be a folder of the working directory.
    """
    try:
        found = Path(path).expanduser()
        os.lstat(found)
    except RuntimeError:
        raise _unusable(path, "begins in a home folder that is not known") from None
    except ValueError:
        raise _unusable(path, "is not a possible file name") from None
    except OSError:
        pass  # nothing is there, or it may not be seen: who opens it will say so
    return found


def _unusable(path: str | Path, reason: str) -> ConfigurationError:
    return ConfigurationError([Problem("", reason, str(path))])


def home_folder(env: Mapping[str, str]) -> Path:
    """The person's home as the variables or the system name it; where none is known, a place that holds nothing."""
    named = env.get("HOME") or env.get("USERPROFILE")
    try:
        return Path(named) if named else Path.home()
    except RuntimeError:
        return Path(os.devnull)


def working_folder() -> Path:
    """The working directory; one that was deleted meanwhile is a folder in which nothing is found."""
    try:
        return Path.cwd()
    except OSError:
        return Path()


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
        base = cls.under(expanded(root)) if root else cls._of_the_platform()
        moved = env.get("TOOLCRIB_CACHE_DIR") or env.get("CCOS_MCP_CACHE_DIR")
        return cls(base.config_dir, base.state_dir, expanded(moved)) if moved else base

    @classmethod
    def under(cls, root: Path) -> Paths:
        return cls(root, root, root / "cache")

    @classmethod
    def _of_the_platform(cls) -> Paths:
        places = platformdirs.PlatformDirs("toolcrib", appauthor=False)
        try:
            return cls(places.user_config_path, places.user_state_path, places.user_cache_path)
        except RuntimeError:
            problem = Problem("", "no home folder is known")
            raise ConfigurationError([problem], hint="Set HOME, or TOOLCRIB_HOME.") from None

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
    def engine_log(self) -> Path:
        """What the engine says that all clients share."""
        return self.state_dir / "engine.log"

    @property
    def token(self) -> Path:
        return self.state_dir / "token"

    @property
    def named_tokens(self) -> Path:
        """What is kept of the tokens that were made for single programs."""
        return self.token.with_name(NAMED_TOKENS)

    @property
    def state_key(self) -> Path:
        """What states that clients bring back are sealed with."""
        return self.state_dir / "request-state.key"

    @property
    def sign_ins_dir(self) -> Path:
        """Sign-ins to servers, with their tokens."""
        return self.state_dir / "sign-ins"

    @property
    def peer_key(self) -> Path:
        """The key by which peers know us; without it we are somebody else to them."""
        return self.state_dir / "peer.key"

    @property
    def peer_certificate(self) -> Path:
        """The certificate, with its key, of the port on which peers reach us."""
        return self.state_dir / "peer-tls.pem"

    @property
    def peers_lock(self) -> Path:
        """Whoever holds it looks for peers and listens for them."""
        return self.state_dir / "peers.lock"

    @property
    def peer_presence(self) -> Path:
        """Where that process says who it is and where peers reach it."""
        return self.state_dir / "peers.json"

    @property
    def trusted_files(self) -> Path:
        return self.state_dir / "trusted.json"

    @property
    def waiting_files(self) -> Path:
        """What was asked about files of project folders, and what became of it."""
        return self.state_dir / "waiting-files.json"

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

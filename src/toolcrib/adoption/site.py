"""The machine adoption works on: its clients' files, our own file, and where the journal and the backups are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolcrib.adoption.client_file import ClientFile
from toolcrib.adoption.clients import Client
from toolcrib.adoption.journal import Journal, read_journal
from toolcrib.adoption.own_file import OwnFile, own_config_path
from toolcrib.adoption.own_launch import OwnLaunch, own_launch
from toolcrib.adoption.writes import FileWrite
from toolcrib.config.documents import is_there, read_bytes
from toolcrib.config.gateway_entry import OwnAddress
from toolcrib.config.paths import Paths
from toolcrib.config.places import Machine
from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.storage.file_lock import file_lock

_LOCK_SECONDS = 5.0
_MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Site:
    """`config` is a configuration file named by the user; without one it is the user's own."""

    machine: Machine
    paths: Paths
    config: Path | None = None

    @classmethod
    def of(cls, env: Mapping[str, str], config: str | None = None) -> Site:
        home = env.get("HOME") or env.get("USERPROFILE")
        machine = Machine(Path(home) if home else Path.home(), env)
        return cls(machine, Paths.of(env), Path(config) if config else None)

    @property
    def own_path(self) -> Path:
        env, home = self.machine.env, self.machine.home
        return own_config_path(self.config, env=env, home=home, paths=self.paths)

    def own_file(self) -> OwnFile:
        return OwnFile.read(self.own_path)

    def client_file(self, client: Client) -> ClientFile:
        return ClientFile.read(client, client.file(self.machine))

    @property
    def launch(self) -> OwnLaunch:
        """How clients start us, so that we find the same configuration as here."""
        is_named = self.config is not None or bool(self.machine.env.get("TOOLCRIB_CONFIG"))
        return own_launch(self.machine.env, self.own_path if is_named else None)

    @property
    def address(self) -> OwnAddress:
        usual = Settings()
        return OwnAddress(usual.http_port, usual.http_path)

    @property
    def folder(self) -> Path:
        return self.paths.state_dir / "adopted"

    def journal(self) -> Journal:
        return read_journal(self.folder / "journal.json")

    def journal_write(self, journal: Journal) -> FileWrite:
        """The journal as a file to be written; an empty one is no file."""
        file = self.folder / "journal.json"
        before = read_bytes(file, _MOST_BYTES) if is_there(file) else None
        return FileWrite(file, before, journal.encoded() if journal.clients else None)

    def backup(self, name: str) -> bytes:
        return read_bytes(self.folder / name, _MOST_BYTES)

    def free_backup(self, owner: str) -> str:
        """A name for a backup that no file has yet."""
        numbers = (f"{owner}/{number:04}.bak" for number in range(1, 10_000))
        return next(name for name in numbers if not is_there(self.folder / name))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Only one adoption or release at a time."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with file_lock(self.folder / "lock", wait_seconds=_LOCK_SECONDS) as taken:
            if not taken:
                raise ConfigurationError([Problem("", "is in use by another adopt or release", str(self.folder))])
            yield

"""The machine adoption works on: its clients' files, our own file, and where the journal and the backups are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from toolcrib.adoption.claude_code import find_claude
from toolcrib.adoption.client_file import ClientFile
from toolcrib.adoption.journal import Journal, JournalFile
from toolcrib.adoption.leftovers import clear_backups, clear_temporaries
from toolcrib.adoption.own_file import OwnFile, own_config_path
from toolcrib.adoption.own_launch import own_launch
from toolcrib.adoption.steps import Placing, Replace, trouble
from toolcrib.adoption.writer import Writer
from toolcrib.clients.client import Client
from toolcrib.clients.machine import Machine, is_there
from toolcrib.clients.own_entry import OwnLaunch
from toolcrib.clients.table import CLIENTS
from toolcrib.config.documents import read_bytes
from toolcrib.config.gateway_entry import OwnAddress
from toolcrib.config.paths import Paths, home_folder
from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.storage.file_lock import file_lock, lock_holder

_LOCK_SECONDS = 30.0
_MOST_BYTES = 64 * 1024 * 1024
_BACKUPS = "backups"
_KEPT = "kept"


@dataclass(frozen=True, slots=True)
class Site:
    """`config` is a configuration file named by the user; without one it is the user's own."""

    machine: Machine
    paths: Paths
    config: Path | None = None

    @classmethod
    def of(cls, env: Mapping[str, str], config: str | None = None) -> Site:
        machine = Machine(home_folder(env), env)
        return cls(machine, Paths.of(env), Path(config) if config else None)

    @property
    def own_path(self) -> Path:
        env, home = self.machine.env, self.machine.home
        return own_config_path(self.config, env=env, home=home, paths=self.paths)

    def own_file(self) -> OwnFile:
        return OwnFile.read(self.own_path)

    def client_files(self, client: Client) -> list[ClientFile]:
        """The files of a client, that in which our entry belongs first; it need not be there."""
        return [ClientFile.read(client, path) for path in client.files(self.machine)]

    def program(self, client: Client) -> str:
        """The client's own program where it has to write its file; empty where that is not installed."""
        return find_claude(self.machine) if client.has_program else ""

    @property
    def launch(self) -> OwnLaunch:
        """How clients start us, so that we find the same configuration as here."""
        is_named = self.config is not None or bool(self.machine.env.get("TOOLCRIB_CONFIG"))
        return own_launch(self.machine.env, self.own_path if is_named else None)

    def launch_with(self, profile: str) -> OwnLaunch:
        """The same for a client that gets a profile."""
        launch = self.launch
        return replace(launch, args=(*launch.args, "--profile", profile)) if profile else launch

    @property
    def address(self) -> OwnAddress:
        usual = Settings()
        return OwnAddress(usual.http_port, usual.http_path)

    @property
    def folder(self) -> Path:
        return self.paths.state_dir / "adopted"

    def journal_file(self) -> JournalFile:
        return JournalFile.read(self.folder / "journal.json")

    def backup(self, name: str) -> bytes:
        return read_bytes(self.folder / name, _MOST_BYTES)

    def free_backup(self, owner: str, taken: Collection[str] = ()) -> str:
        """A name for a backup that neither a file has yet nor another one of those to be written."""
        return self._free(f"{_BACKUPS}/{owner}", taken)

    def free_keepsake(self, owner: str, taken: Collection[str] = ()) -> str:
        """The same for a backup that stays when the journal does not need it any more."""
        return self._free(f"{_KEPT}/{owner}", taken)

    @contextmanager
    def writing(self, command: str, *, replace: Replace = os.replace) -> Iterator[Writer]:
        """Hold the lock that all who write share; what a killed one left behind is cleared away first."""
        lock = self.folder / "lock"
        holder = f"`toolcrib {command}` (process {os.getpid()})"
        with ExitStack() as held:
            try:
                for folder in (self.paths.state_dir, self.folder):
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                is_taken = held.enter_context(file_lock(lock, wait_seconds=_LOCK_SECONDS, holder=holder))
            except OSError as error:
                raise trouble(self.folder, f"cannot be used: {error.strerror or error}; nothing was written") from None
            if not is_taken:
                raise self._in_use(lock_holder(lock))
            placing = Placing(self._tag, replace)
            self._clear(placing.tag)
            yield Writer(placing)

    @property
    def _tag(self) -> str:
        """What our temporary files are known by: others may work on the same files from another state folder."""
        return hashlib.sha256(str(self.paths.state_dir.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]

    def _in_use(self, holder: str) -> ConfigurationError:
        who = holder or "another toolcrib command"
        message = f"is in use: {who} has been writing for more than {_LOCK_SECONDS:g} seconds; nothing was written"
        return ConfigurationError([Problem("", message, str(self.folder))], hint="Try again when it is done.")

    def _clear(self, tag: str) -> None:
        try:
            journal = self.journal_file().journal()
        except ConfigurationError:
            # Nobody can tell then which backups are needed; who wants to read it will say so.
            journal = None
        clear_temporaries(self._written_to(journal or Journal()), tag)
        if journal is not None:
            clear_backups(self.folder / _BACKUPS, journal.backups())

    def _written_to(self, journal: Journal) -> Iterator[Path]:
        """Every folder that a command may have been writing to."""
        files = [self.own_path, *(Path(record.file) for record in journal.clients.values())]
        files += [place for client in CLIENTS.values() for place in client.files(self.machine)]
        yield from (file.resolve().parent for file in files)
        yield self.folder
        yield from (folder for folder in self.folder.rglob("*") if folder.is_dir())

    def _free(self, stem: str, taken: Collection[str]) -> str:
        numbers = (f"{stem}/{number:04}.bak" for number in range(1, 10_000))
        return next(name for name in numbers if name not in taken and not is_there(self.folder / name))

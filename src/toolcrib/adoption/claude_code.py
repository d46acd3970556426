"""Claude Code keeps its whole state in one file and rewrites it all the time: its entries are changed by its own program.

Only what concerns servers is read from that file; `claude mcp list` is not asked, since it starts every server it lists.
That program takes an entry as an argument only, which others on the machine could read, so it is given the entry with its
secrets covered, and they are put into the file afterwards, under the lock of Claude Code.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from toolcrib.adoption.claude_lock import claude_locked
from toolcrib.adoption.steps import Placing, trouble
from toolcrib.adoption.writes import FileWrite
from toolcrib.clients.claude_code import CLAUDE_CODE, FOLDERS, SERVERS
from toolcrib.clients.machine import Machine, is_there
from toolcrib.config.documents import parse_document, read_bytes
from toolcrib.config.source_types import SOURCE_TYPES
from toolcrib.edit.changes import EditRefused, Place, Put, look_up
from toolcrib.edit.document import edited
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.masking.entries import masked_entry

_PROGRAM = "claude"
_RUN_SECONDS = 60.0
# How often an edit is made anew because Claude Code has written meanwhile.
_MOST_EDITS = 20
_NAME = re.compile(r"[A-Za-z0-9_-]+")
# What `claude mcp add-json` keeps of an entry; it drops the rest without a word.
_STDIO_KEYS = frozenset(("type", "command", "args", "env", "timeout", "alwaysLoad"))
_REMOTE_KEYS = frozenset(("type", "url", "headers", "timeout", "alwaysLoad"))
# A batch file hands its arguments to a shell, which takes these for its own.
_UNSAFE_IN_BATCH = frozenset("&|<>^%\r\n")
_WITHOUT_IT = (
    "To leave Claude Code out, name the other clients: `toolcrib adopt CLIENT...`, `toolcrib release CLIENT...`."
)
_QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def find_claude(machine: Machine) -> str:
    """The program, where Claude Code is installed; else nothing."""
    usual = (machine.home / ".local" / "bin", machine.home / ".claude" / "local")
    search = os.pathsep.join((machine.env.get("PATH", os.defpath), *map(str, usual)))
    return shutil.which(_PROGRAM, path=search) or ""


def only_servers(content: bytes, path: Path) -> bytes:
    """What the file says about servers, and nothing of conversations."""
    document = parse_document(content, path)
    if not isinstance(document, Mapping):
        raise trouble(path, "expected a map")
    folders = document.get(FOLDERS)
    projects = {
        folder: {SERVERS: project[SERVERS]}
        for folder, project in (folders.items() if isinstance(folders, Mapping) else ())
        if isinstance(project, Mapping) and project.get(SERVERS)
    }
    found = {SERVERS: document.get(SERVERS) or None, FOLDERS: projects or None}
    return json.dumps({key: value for key, value in found.items() if value}, indent=2).encode() + b"\n"


def why_not_given_back(key: str, entry: Mapping[str, Any]) -> str:
    """What keeps Claude Code from being given this entry back; empty when nothing does."""
    if not _NAME.fullmatch(key):
        return "Claude Code's own command does not accept a server of this name"
    if "command" not in entry and not entry.get("headers"):
        return "Claude Code may have signed in to it, and forgets that when it is removed"
    lost = [name for name in entry if name not in (_STDIO_KEYS if "command" in entry else _REMOTE_KEYS)]
    if lost:
        return f"Claude Code's own command would drop {', '.join(lost)} when it is given back"
    return "" if _is_accepted(entry) else "Claude Code's own command would not take it back as it is"


def words(place: Place, entry: Any | None) -> tuple[str, ...]:
    """The command that gives Claude Code this entry at this place, or without an entry takes it away."""
    scope, key = "local" if place[0] == FOLDERS else "user", str(place[-1])
    if entry is None:
        return (_PROGRAM, "mcp", "remove", "-s", scope, key)
    return (_PROGRAM, "mcp", "add-json", "-s", scope, key, json.dumps(entry))


def is_half_given(found: Any, entry: Any) -> bool:
    """Whether Claude Code has this entry without its secrets: whoever was to put them in was stopped."""
    return _hides_something(entry) and _says(found, masked_entry(entry))


@dataclass(frozen=True, slots=True)
class ClaudeEntry:
    """One entry of Claude Code: what it is expected to be now, and what it shall be; None means no such entry."""

    path: Path
    program: str
    machine: Machine = field(repr=False)
    place: Place
    before: Any = field(repr=False)
    after: Any = field(repr=False)

    @property
    def changes_something(self) -> bool:
        return bool(self.before != self.after)

    def check(self) -> None:
        if self._found() != self.before:
            message = f"{self.place[-1]} was changed by someone else meanwhile; nothing was written, try again"
            raise trouble(self.path, message)

    def apply(self, placing: Placing) -> None:
        if not is_half_given(self.before, self.after):
            self._replace()
        if _hides_something(self.after):
            self._put_secrets_in(placing)

    def verify(self) -> None:
        if not _says(self._found(), self.after):
            raise trouble(self.path, f"{self.place[-1]} was not saved by Claude Code as it should be; try again")

    def undo(self, placing: Placing) -> None:
        found = self._found()
        if _says(found, self.before):
            return
        if found is not None and not (_says(found, self.after) or is_half_given(found, self.after)):
            raise self._changed()
        replace(self, before=found, after=self.before).apply(placing)

    def _replace(self) -> None:
        if self.before is not None:
            self._run(words(self.place, None))
        if self.after is not None:
            self._run(words(self.place, masked_entry(self.after)))

    def _put_secrets_in(self, placing: Placing) -> None:
        for _ in range(_MOST_EDITS):
            # The edit of a large file takes a while, so Claude Code is kept waiting only for the write.
            write = self._with_secrets()
            with claude_locked(self.path):
                if write.is_as_expected():
                    write.apply(placing)
                    return
        raise trouble(self.path, "Claude Code writes it all the time; close Claude Code and try again")

    def _with_secrets(self) -> FileWrite:
        content = self._content()
        found = look_up(parse_document(content, self.path), self.place)
        if not is_half_given(found, self.after):
            raise self._changed()
        given = {key: value for key, value in self.after.items() if key != "type"}
        try:
            after = edited(content, "json", [Put(self.place, {**found, **given})])
        except EditRefused as refusal:
            raise trouble(self.path, str(refusal)) from None
        return FileWrite(self.path, content, after)

    def _changed(self) -> ConfigurationError:
        return trouble(self.path, f"{self.place[-1]} was changed by someone else meanwhile")

    def _found(self) -> Any:
        return look_up(parse_document(self._content(), self.path), self.place) if is_there(self.path) else None

    def _content(self) -> bytes:
        return read_bytes(self.path, SOURCE_TYPES[CLAUDE_CODE.name].max_bytes)

    def _run(self, command: tuple[str, ...]) -> None:
        """Run it where it means the right folder; an error of it is one of this step."""
        folder = Path(str(self.place[1])) if self.place[0] == FOLDERS else self.machine.home
        if self.program.lower().endswith((".cmd", ".bat")) and any(_UNSAFE_IN_BATCH & set(word) for word in command):
            raise trouble(self.path, f"{self.place[-1]} contains characters that can't be passed to {self.program}")
        try:
            done = subprocess.run(
                [self.program, *command[1:]],
                check=False,
                cwd=folder,
                env={**self.machine.env, **_QUIET},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_RUN_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise self._failed(command, f"did not finish within {_RUN_SECONDS:g} seconds") from None
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace").splitlines()
            raise self._failed(command, f"failed: {said[0] if said else 'it gave no reason'}")

    def _failed(self, command: tuple[str, ...], how: str) -> ConfigurationError:
        # Without the entry, which may hold secrets.
        problem = Problem("", f"`{shlex.join(command[:6])}` {how}", str(self.path))
        return ConfigurationError([problem], hint=_WITHOUT_IT)


def _says(found: Any, wanted: Any) -> bool:
    """Whether an entry says what it should; Claude Code adds an empty list of arguments, and spells types its way."""
    if wanted is None or not isinstance(found, Mapping):
        return bool(found == wanted)
    return all(found.get(key) == value for key, value in wanted.items() if key != "type")


def _hides_something(entry: Any) -> bool:
    return entry is not None and masked_entry(entry) != entry


def _is_accepted(entry: Mapping[str, Any]) -> bool:
    """Whether `claude mcp add-json` finds every value of the kind it wants."""
    kinds = ("stdio",) if "command" in entry else ("http", "sse", "streamable-http")
    timeout = entry.get("timeout", 1)
    return (
        entry.get("type", "stdio") in kinds
        and all(_is_texts(entry.get(name, {})) for name in ("env", "headers"))
        and isinstance(args := entry.get("args", []), list)
        and all(isinstance(word, str) for word in args)
        and (type(timeout), type(entry.get("alwaysLoad", True))) == (int, bool)
        and timeout > 0
    )


def _is_texts(values: Any) -> bool:
    return isinstance(values, Mapping) and all(isinstance(value, str) for value in values.values())

"""Where the engine of a person can be found: a folder that only they can open, and short names in it.

Read by what a client starts, so only built-in modules are imported here.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress

from toolcrib.version import VERSION

# The kernel's own limit for the path of a socket is 107 bytes here and 103 elsewhere.
MOST_PATH_BYTES = 100
PRIVATE_FOLDER = 0o700
_NAME_DIGITS = 12


class UnsafePlace(Exception):
    """The folder or the socket may be read or written by others, or is not what it should be."""


class EnginePlace:
    """The files of one engine. Engines of other versions, installations and state folders have other names."""

    __slots__ = ("folder", "house", "name")

    def __init__(self, folder: str, house: str, name: str) -> None:
        self.folder = folder
        # Common to all engines that share their files, whatever their version.
        self.house = house
        self.name = name

    @property
    def socket(self) -> str:
        return f"{self.folder}/{self.name}.sock"

    @property
    def lock(self) -> str:
        """Held by the engine for as long as it runs."""
        return f"{self.folder}/{self.name}.lock"

    @property
    def starting(self) -> str:
        """Held by whoever is starting the engine."""
        return f"{self.folder}/{self.name}.starting"

    def make_folder(self) -> None:
        """Make the folder where it is missing, and see that it is ours alone."""
        os.makedirs(os.path.dirname(self.folder), exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(self.folder, PRIVATE_FOLDER)
        self.check()

    def check(self) -> None:
        """Raise UnsafePlace where somebody else could stand behind the folder or the socket."""
        folder = os.lstat(self.folder)
        if not stat.S_ISDIR(folder.st_mode) or folder.st_uid != os.getuid() or folder.st_mode & 0o077:
            raise UnsafePlace(f"{self.folder} is not a folder that only you can open")
        try:
            socket = os.lstat(self.socket)
        except FileNotFoundError:
            return
        if not stat.S_ISSOCK(socket.st_mode) or socket.st_uid != os.getuid() or socket.st_mode & 0o077:
            raise UnsafePlace(f"{self.socket} is not a socket that only you can use")


def engine_place(env: Mapping[str, str]) -> EnginePlace:
    """The place of the engine that serves clients with these variables and this installation."""
    folders = _own_folders(env)
    house = _digest(*folders)
    name = f"{house}-{_digest(VERSION, sys.prefix, os.path.dirname(os.path.dirname(__file__)))}"
    for folder in _candidates(env, folders[0]):
        if len(os.fsencode(f"{folder}/{name}.starting")) <= MOST_PATH_BYTES:
            return EnginePlace(folder, house, name)
    return EnginePlace(f"/tmp/toolcrib-{os.getuid()}", house, name)  # noqa: S108 (checked like any other)


def engine_folders(env: Mapping[str, str]) -> list[str]:
    """Every folder in which an engine of this person can be, whichever variables its clients hand on."""
    user = os.getuid()
    runtimes = [f"/run/user/{user}", *filter(None, [env.get("XDG_RUNTIME_DIR")])]
    return [f"{_own_folders(env)[0]}/engine", *(f"{folder}/toolcrib" for folder in runtimes), f"/tmp/toolcrib-{user}"]  # noqa: S108


def _own_folders(env: Mapping[str, str]) -> tuple[str, ...]:
    """State, configuration and cache, as far as variables decide about them."""
    home = env.get("HOME") or os.path.expanduser("~")
    moved = env.get("TOOLCRIB_CACHE_DIR") or env.get("CCOS_MCP_CACHE_DIR") or ""
    if root := env.get("TOOLCRIB_HOME"):
        return os.path.realpath(os.path.expanduser(root)), moved
    usual = (("XDG_STATE_HOME", ".local/state"), ("XDG_CONFIG_HOME", ".config"), ("XDG_CACHE_HOME", ".cache"))
    state, config, cache = (env.get(name) or f"{home}/{folder}" for name, folder in usual)
    return f"{state}/toolcrib", config, moved or cache


def _candidates(env: Mapping[str, str], state: str) -> list[str]:
    own = f"{state}/engine"
    if env.get("TOOLCRIB_HOME"):
        return [own]
    # Clients that hand on hardly any variable must find the same engine as those that hand on all.
    runtime = env.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    return [f"{runtime}/toolcrib", own] if _is_ours(runtime) else [own]


def _is_ours(folder: str) -> bool:
    try:
        found = os.stat(folder)
    except OSError:
        return False
    return found.st_uid == os.getuid() and os.access(folder, os.W_OK)


def _digest(*texts: str) -> str:
    # `hashlib` would load OpenSSL; this is a name, and no secret.
    value = 0xCBF29CE484222325
    for byte in b"\0".join(map(os.fsencode, texts)):
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"[:_NAME_DIGITS]

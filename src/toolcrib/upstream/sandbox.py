"""A server's command wrapped in bubblewrap, so that it reaches only what its entry allows; or the reason why not."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from shutil import which

from toolcrib.config.package_names import downloads
from toolcrib.errors import SandboxUnavailable
from toolcrib.model.sandbox import Sandbox
from toolcrib.upstream import sandbox_start
from toolcrib.upstream.own_places import OwnPlaces
from toolcrib.upstream.program import find_program
from toolcrib.upstream.program_folders import program_folders, what_runs
from toolcrib.upstream.sandbox_places import ShownPlaces, check_can_run, named_places
from toolcrib.upstream.sandbox_start import FOR_INSIDE, WITHOUT_INSIDE
from toolcrib.upstream.sandbox_system import kernel_files, system_folders

log = logging.getLogger(__name__)

_START = Path(sandbox_start.__file__)
_DOOR = Path(__file__).with_name("sandbox_door.py")
# Where the socket of the proxy is, inside.
_PROXY = "/run/toolcrib-proxy"
_TRY_SECONDS = 10.0
# These folders are memory of the machine: a server that fills them gets "no space left", and nobody else notices.
FOLDER_BYTES = 1024**3
SHARED_MEMORY_BYTES = 256 * 1024**2
_WITHOUT = "Or remove `sandbox` from the entry to run it without one."
_BASE = (
    "--die-with-parent",
    "--new-session",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--cap-drop",
    "ALL",
)
# Whoever is root in a namespace of their own reaches far more of the kernel, and more of its flaws.
_USER, _ONE_USER = ("--unshare-user-try",), ("--unshare-user", "--disable-userns")
# What decides which code is loaded into any program. What makes the sandbox runs outside of it, so these are for the server alone.
_OF_THE_LOADER = re.compile(r"LD_\w+|GLIBC_TUNABLES|GCONV_PATH|LOCPATH")


def confined(
    server: str,
    argv: Sequence[str],
    sandbox: Sandbox,
    env: Mapping[str, str],
    folder: str | None,
    own: OwnPlaces,
    proxy: str = "",
) -> list[str]:
    """The command to start instead, with the variables of `outside`; it goes to its folder by itself. Raises SandboxUnavailable.

    `proxy` is the socket of the proxy that leads to `sandbox.hosts`.
    """
    if downloads(tuple(argv)):
        raise SandboxUnavailable(
            f"{argv[0]} downloads what it runs, and a sandbox does not let it",
            server=server,
            reason="downloads",
            hint=f"Install the package, and name its program as `command`. {_WITHOUT}",
        )
    bubblewrap = _usable(server)
    program = find_program(server, argv[0], env, folder)
    home = _home(env)
    named = named_places(server, sandbox, own)
    programs = program_folders(program, argv[1:], env, folder, sandbox.write)
    door = [sys.executable, "-I", "-S", str(_DOOR), _PROXY] if proxy else []
    if door:
        programs += [*program_folders(sys.executable, (), env), str(_DOOR)]
    places = ShownPlaces(programs, named, own)
    check_can_run(server, what_runs(program, env), [*programs, *named])
    shown = folder is not None and (places.has(folder) or _is_inside(folder, "/usr"))
    return [
        *(sys.executable, "-I", "-S", str(_START)),
        bubblewrap,
        *_BASE,
        *_user(bubblewrap),
        *([] if sandbox.network == "all" else ["--unshare-net"]),
        *system_folders(),
        *kernel_files(),
        *_temporary(home, limits_sizes=_limits_sizes(bubblewrap)),
        *places.words(),
        # Where the entry names the root folder, the system's own stand there now.
        *(("--dev", "/dev", *kernel_files()) if "/" in named else ()),
        *(("--bind", proxy, _PROXY) if proxy else ()),
        # What bubblewrap made to hang all of this up is memory as well, and has no limit.
        *("--remount-ro", "/dev", "--remount-ro", "/"),
        "--chdir",
        folder if folder is not None and shown else home,
        "--",
        *door,
        program,
        *argv[1:],
    ]


def outside(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that the command is started with: those of the loader count inside, under their own names."""
    ours = {name: os.environ[name] for name in WITHOUT_INSIDE if name in os.environ}
    theirs = {f"{FOR_INSIDE}{name}" if _OF_THE_LOADER.fullmatch(name) else name: env[name] for name in env}
    return {**theirs, **ours}


def why_unavailable() -> tuple[str, str]:
    """Why no sandbox can be had here, as a short code and in words; both are empty where one can."""
    if sys.platform != "linux":
        return "not_linux", "sandboxes are only there on Linux"
    if (found := which("bwrap")) is None:
        return "not_installed", "bubblewrap (the program bwrap) is not installed"
    return _tried(found)


@cache
def _tried(bubblewrap: str) -> tuple[str, str]:
    words = [
        bubblewrap,
        *_BASE,
        *_USER,
        "--unshare-net",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "true",
    ]
    try:
        ran = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=_TRY_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return "forbidden", f"bubblewrap can't be run: {problem}"
    said = ran.stderr.strip().splitlines()[-1:] or [f"exit status {ran.returncode}"]
    return ("", "") if ran.returncode == 0 else ("forbidden", f"bubblewrap may not make a sandbox: {said[0][:200]}")


@cache
def _takes(bubblewrap: str, *options: str) -> bool:
    """Whether this one can do that, here."""
    words = [bubblewrap, *_BASE, "--ro-bind", "/", "/", "--proc", "/proc", *options, "true"]
    try:
        return subprocess.run(words, capture_output=True, timeout=_TRY_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _user(bubblewrap: str) -> tuple[str, ...]:
    """The options for a user namespace; with none inside of it where that can be had: from 0.8 on, if it is not setuid."""
    return _ONE_USER if _takes(bubblewrap, *_ONE_USER) else _USER


@cache
def _limits_sizes(bubblewrap: str) -> bool:
    """Whether it can bound the memory of a folder: before 0.7, and where it is setuid, it can't."""
    can = _takes(bubblewrap, *_USER, "--size", "65536", "--tmpfs", "/tmp")  # noqa: S108
    if not can:
        log.warning(
            "this bubblewrap can't limit the memory that /tmp and the home of a sandbox take; 0.7 and later can"
        )
    return can


def _usable(server: str) -> str:
    reason, words = why_unavailable()
    if reason:
        install = (
            "Install bubblewrap (Debian, Fedora and others call the package so). " if reason == "not_installed" else ""
        )
        raise SandboxUnavailable(
            f"its entry wants a sandbox, and {words}", server=server, reason=reason, hint=f"{install}{_WITHOUT}"
        )
    return which("bwrap") or "bwrap"


def _home(env: Mapping[str, str]) -> str:
    home = env.get("HOME", "")
    return home if home.startswith("/") and home != "/" else "/tmp"  # noqa: S108 (a new one, inside)


def _temporary(home: str, *, limits_sizes: bool) -> Iterator[str]:
    folders = {"/tmp": FOLDER_BYTES, "/dev/shm": SHARED_MEMORY_BYTES}  # noqa: S108
    is_temporary = _is_inside(home, "/tmp")  # noqa: S108
    if not is_temporary:
        folders[home] = FOLDER_BYTES
    yield from ("--dev", "/dev")
    for folder, most_bytes in folders.items():
        yield from ("--size", str(most_bytes)) if limits_sizes else ()
        yield from ("--tmpfs", folder)
    if is_temporary:
        yield from ("--dir", home)


def _is_inside(path: str, place: str) -> bool:
    return Path(path).is_relative_to(place)

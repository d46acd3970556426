"""Start the engine: exactly one, however many clients want it at the same moment."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from toolcrib.connector.link import EngineLink, NoEngine
from toolcrib.connector.place import EnginePlace

if sys.platform != "win32":
    import fcntl

START_SECONDS = 30.0
READY = b"ready\n"
_MOST_REASON_BYTES = 4096
_PAUSE_SECONDS = 0.01

# What the engine's own process gets of the client that started it: nothing that belongs to one client only. The last one
# lets tests measure it.
_NAMES = frozenset(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE TMPDIR TEMP TMP TZ "
    "HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy "
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS "
    "XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS "
    "TOOLCRIB_HOME TOOLCRIB_CACHE_DIR CCOS_MCP_CACHE_DIR TOOLCRIB_LOG_LEVEL MCP_LOG_LEVEL "
    "PYTHONPATH PYTHONDONTWRITEBYTECODE COVERAGE_PROCESS_CONFIG".split()
)


class CannotStart(Exception):
    """No engine could be started; the text says why."""


def start_engine(place: EnginePlace) -> None:
    """Return once an engine listens; whoever comes second waits for the first one's."""
    place.make_folder()
    deadline = time.monotonic() + START_SECONDS
    with starting(place, deadline):
        if not _listens(place):
            _launch(place, deadline)


def is_held(place: EnginePlace) -> bool:
    """Whether an engine has this place, also one that does not listen any more."""
    try:
        descriptor = os.open(place.lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def holder(place: EnginePlace) -> str:
    """The process of the engine that has this place, as it wrote it down; empty where nobody did."""
    try:
        with open(place.lock, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def engine_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that the engine itself gets."""
    return {name: value for name, value in env.items() if name in _NAMES or name.startswith("LC_")}


@contextmanager
def starting(place: EnginePlace, deadline: float) -> Iterator[None]:
    """Whoever has begun this is the only one who starts an engine; CannotStart where somebody else does for too long."""
    descriptor = os.open(place.starting, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise CannotStart("another client has been starting it for too long") from None
                time.sleep(_PAUSE_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _listens(place: EnginePlace) -> bool:
    try:
        EngineLink.to(place).close()
    except NoEngine:
        return False
    return True


def _launch(place: EnginePlace, deadline: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "toolcrib.connector.engine_main", place.folder, place.house, place.name],
        env=engine_environment(os.environ),
        cwd=os.sep,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        bufsize=0,
    )
    assert process.stdout is not None
    said = b""
    while READY not in said:
        seconds = deadline - time.monotonic()
        if seconds <= 0 or not select.select([process.stdout], [], [], seconds)[0]:
            process.kill()
            process.wait()
            raise CannotStart(f"it did not listen within {START_SECONDS:g} s")
        more = os.read(process.stdout.fileno(), _MOST_REASON_BYTES)
        if not more:
            raise CannotStart(_reason(said, process.wait()))
        said = (said + more)[-_MOST_REASON_BYTES:]
    process.stdout.close()
    process.returncode = 0  # it lives on without us, and nobody here waits for it


def _reason(said: bytes, code: int) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"it ended with code {code}"

"""What a client starts on stdio: it hands its pipes to the engine, and waits."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module

from toolcrib.connector import words
from toolcrib.connector.hello import STDIO, own_hello
from toolcrib.connector.link import LOST, EngineLink, NoEngine
from toolcrib.connector.place import EnginePlace, UnsafePlace, engine_place
from toolcrib.version import VERSION

# An engine that is lost so often within this time is not tried again.
MOST_LOSSES = 6
# Before the second try and each one after it, longer each time: what kept an engine from serving may pass.
PAUSE_SECONDS = 0.1
LOSSES_WITHIN_SECONDS = 60.0


class Alone(Exception):
    """No engine can serve this client, for the reason given: the gateway has to run in this process."""


class EngineLost(Exception):
    """The engine went away without a word."""


def serve_through_engine(arguments: Sequence[str]) -> int:
    """The exit code of the session; raises Alone while nothing was read of the client."""
    place = _place(os.environ)
    session = ConnectorSession(place, arguments)
    for number, word in ((signal.SIGTERM, words.STOP), (signal.SIGINT, words.STOP), (signal.SIGHUP, words.RELOAD)):
        signal.signal(number, session.passing_on(word))
    return session.run()


def _place(env: Mapping[str, str]) -> EnginePlace:
    if reason := _why_alone():
        raise Alone(reason)
    return engine_place(env)


def _why_alone() -> str:
    if not (_is_pipe(0) and _is_pipe(1)):
        return "standard input and output are not both pipes"
    if os.path.exists("/.flatpak-info") or os.environ.get("SNAP"):
        return "this client runs in a sandbox"
    if os.getpid() == 1:
        return "this is the main process of a container"
    return ""


def _is_pipe(descriptor: int) -> bool:
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:  # closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class ConnectorSession:
    """One client's session, also across engines: what it keeps says how far the last one got."""

    def __init__(self, place: EnginePlace, arguments: Sequence[str]) -> None:
        self._place = place
        self._arguments = list(arguments)
        # The journal of the session, what came from the client and what goes to it, and a pipe for input on its way.
        self._kept = (_unnamed_file(), _unnamed_file(), _unnamed_file(), *os.pipe())
        self._link: EngineLink | None = None
        self._is_taken = False
        self._losses: list[float] = []

    def run(self) -> int:
        while True:
            try:
                return self._with_engine()
            except EngineLost as lost:
                self._count_loss()
                if len(self._losses) < MOST_LOSSES:
                    time.sleep(PAUSE_SECONDS * (len(self._losses) - 1))
                    continue
                if not self._is_taken:
                    raise Alone(f"no engine could be kept: {lost}") from None
                print(
                    f"toolcrib: this session can't go on, the engine was lost {MOST_LOSSES} times ({lost}). "
                    "`toolcrib engine logs` may say why. Restart the server.",
                    file=sys.stderr,
                )
                return LOST

    def passing_on(self, word: str) -> Callable[[int, object], None]:
        """A signal handler that tells the engine; where there is none, or it was told to stop, the process just ends."""

        def handle(number: int, _: object) -> None:
            if self._link is None:
                signal.signal(number, signal.SIG_DFL)
                signal.raise_signal(number)
                return
            if word == words.STOP:
                signal.signal(number, signal.SIG_DFL)
            with suppress(OSError):  # it is gone, which is noticed where its words are awaited
                self._link.say(word)

        return handle

    def _with_engine(self) -> int:
        self._link = link = self._reached()
        try:
            link.greet(own_hello(STDIO, VERSION, self._arguments), [0, 1, *self._kept])
            return self._listen(link)
        except (BrokenPipeError, ConnectionResetError):
            raise EngineLost("it ended while it was greeted") from None
        finally:
            self._link = None
            link.close()

    def _listen(self, link: EngineLink) -> int:
        for word, text in link.heard():
            if word == words.TAKEN:
                self._is_taken = True
            elif word == words.SAY:
                print(text, file=sys.stderr, flush=True)
            elif word == words.END:
                return int(text)
            elif word == words.ALONE:
                return self._refused(text)
            elif word == words.AGAIN:
                return self._with_engine()
        raise EngineLost("it ended without a word")

    def _refused(self, reason: str) -> int:
        """A gateway in this process can't go on with what an engine has begun."""
        if not self._is_taken:
            raise Alone(reason)
        print(f"toolcrib: this session can't go on in another engine: {reason}. Restart the server.", file=sys.stderr)
        return LOST

    def _reached(self) -> EngineLink:
        try:
            try:
                return EngineLink.to(self._place)
            except NoEngine:
                # Loaded only now: most clients find an engine.
                starting = import_module("toolcrib.connector.start")
                starting.start_engine(self._place)
                return EngineLink.to(self._place)
        except NoEngine:
            raise EngineLost("it ended right after its start") from None
        except UnsafePlace as danger:
            raise self._unreachable(str(danger)) from None
        except OSError as problem:
            raise self._unreachable(
                f"{problem.strerror}: {problem.filename}" if problem.filename else str(problem)
            ) from None
        except Exception as problem:  # noqa: BLE001 - CannotStart, whose module is loaded only where it is needed
            raise self._unreachable(str(problem)) from None

    def _unreachable(self, reason: str) -> Exception:
        return EngineLost(reason) if self._is_taken else Alone(reason)

    def _count_loss(self) -> None:
        now = time.monotonic()
        self._losses = [at for at in self._losses if now - at < LOSSES_WITHIN_SECONDS] + [now]


def _unnamed_file() -> int:
    """A file in memory that ends with its last holder: the engine writes it, and the next engine reads it."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("toolcrib-session", os.MFD_CLOEXEC)
    file: int = import_module("tempfile").TemporaryFile(buffering=0).detach()  # pragma: no cover (not on Linux)
    return file

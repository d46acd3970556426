"""Log lines on standard error; standard output belongs to the protocol."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping

from toolcrib.masking.known import KnownSecrets
from toolcrib.masking.masker import Masker

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# These write whole addresses and headers, also where a program that uses our library has set up logging itself.
_TALKATIVE = ("httpx2", *(f"httpcore2.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))


def log_to_stderr(*, verbose: int, quiet: bool, env: Mapping[str, str]) -> None:
    """Set up logging for a command; `TOOLCRIB_LOG_LEVEL` (or the seeds' `MCP_LOG_LEVEL`) wins over the flags."""
    named = env.get("TOOLCRIB_LOG_LEVEL") or env.get("MCP_LOG_LEVEL") or ""
    level = logging.getLevelNamesMapping().get(named.upper(), _level(verbose, quiet=quiet))
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, force=True)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(CoveredLines(_FORMAT))
    logging.getLogger("toolcrib").setLevel(level)
    # The SDK logs every odd message with a traceback; what matters of it we report ourselves.
    logging.getLogger("mcp").setLevel(logging.DEBUG if verbose > 1 else logging.ERROR)


def mask_in_logs(masker: Masker) -> None:
    """Cover what this masker knows in every line from now on, tracebacks included.

    Values that are everyday words are left: what servers say was covered before, and a line is about much else.
    """
    _covered.add(masker.telling)


class _Covered(logging.Filter):
    """What the log lines of this process must not show; logging is set up once for a process, and so is this."""

    def __init__(self) -> None:
        super().__init__()
        self._known = KnownSecrets()
        self.masker = Masker()

    def add(self, known: KnownSecrets) -> None:
        for name in _TALKATIVE:
            logging.getLogger(name).addFilter(self)  # one that is there already is not added again
        merged = self._known.and_also(known)
        if merged is not self._known:
            self._known, self.masker = merged, Masker(merged)

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self.masker(record.getMessage()), None
        return True


class CoveredLines(logging.Formatter):
    """Log lines without secrets: those that servers were given, and what looks like one."""

    def format(self, record: logging.LogRecord) -> str:
        return _covered.masker(super().format(record))


def _level(verbose: int, *, quiet: bool) -> int:
    if quiet:
        return logging.ERROR
    return (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]


_covered = _Covered()

"""Log lines on standard error; standard output belongs to the protocol."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping

from toolcrib.masking.known import KnownSecrets
from toolcrib.masking.masker import Masker
from toolcrib.masking.redactor import REDACTOR
from toolcrib.model.clean_text import clean_lines
from toolcrib.telemetry.crash import cover_crashes

_FORMAT = "%(levelname)s %(name)s: %(message)s"
_MOST_CHARACTERS = 20_000
_MOST_LOOKED_AT = 100_000
_INDENT = "    "
# These write whole addresses and headers, also where a program that uses our library has set up logging itself.
_TALKATIVE = ("httpx2", *(f"httpcore2.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))


class CleanFormatter(logging.Formatter):
    """Log lines quote what servers, clients and file names say; none of it can steer a terminal or pass for another line,
    and none of it is a secret. Only the first line of a record stands at the margin.
    """

    def format(self, record: logging.LogRecord) -> str:
        # Cleaned before it is masked: a code in the middle of a secret would hide it. And masked before it is cut: half a
        # secret is not recognised any more.
        text = REDACTOR(clean_lines(super().format(record)[:_MOST_LOOKED_AT]))[:_MOST_CHARACTERS]
        return text.replace("\n", f"\n{_INDENT}")


def log_to_stderr(*, verbose: int, quiet: bool, env: Mapping[str, str], with_time: bool = False) -> None:
    """Set up logging for a command; `TOOLCRIB_LOG_LEVEL` (or `MCP_LOG_LEVEL`) wins over the flags."""
    named = env.get("TOOLCRIB_LOG_LEVEL") or env.get("MCP_LOG_LEVEL") or ""
    level = logging.getLevelNamesMapping().get(named.upper(), _level(verbose, quiet=quiet))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(CleanFormatter(f"%(asctime)s {_FORMAT}" if with_time else _FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("toolcrib").setLevel(level)
    # The SDK logs every odd message with a traceback; what matters of it we report ourselves.
    logging.getLogger("mcp").setLevel(logging.DEBUG if verbose > 1 else logging.ERROR)
    cover_crashes()


def mask_in_logs(masker: Masker) -> None:
    """Cover what this masker knows in every line from now on, tracebacks included.

    Its values that are everyday words are left: a line is about much else.
    """
    _look_at_talkative_ones()
    REDACTOR.cover(masker.telling)


def mask_tokens_in_logs(owner: str, tokens: KnownSecrets) -> None:
    """The same for what changes: the tokens of `owner` from now on, in place of those it had before."""
    _look_at_talkative_ones()
    REDACTOR.cover_tokens(owner, tokens)


class _Quietened(logging.Filter):
    """Covers what the talkative ones say, whoever has set up logging."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = REDACTOR(record.getMessage()), None
        return True


def _look_at_talkative_ones() -> None:
    for name in _TALKATIVE:
        logging.getLogger(name).addFilter(_quietened)  # one that is there already is not added again


def _level(verbose: int, *, quiet: bool) -> int:
    if quiet:
        return logging.ERROR
    return (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]


_quietened = _Quietened()

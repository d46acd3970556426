"""Log lines on standard error; standard output belongs to the protocol."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping

from toolcrib.model.clean_text import clean_lines

_FORMAT = "%(levelname)s %(name)s: %(message)s"
_MOST_CHARACTERS = 20_000
_INDENT = "    "


class CleanFormatter(logging.Formatter):
    """Log lines quote what servers, clients and file names say; none of it can steer a terminal or pass for another line.

    Only the first line of a record stands at the margin.
    """

    def format(self, record: logging.LogRecord) -> str:
        text = clean_lines(super().format(record)[:_MOST_CHARACTERS])
        return text.replace("\n", f"\n{_INDENT}")


def log_to_stderr(*, verbose: int, quiet: bool, env: Mapping[str, str], with_time: bool = False) -> None:
    """Set up logging for a command; `TOOLCRIB_LOG_LEVEL` (or the seeds' `MCP_LOG_LEVEL`) wins over the flags."""
    named = env.get("TOOLCRIB_LOG_LEVEL") or env.get("MCP_LOG_LEVEL") or ""
    level = logging.getLevelNamesMapping().get(named.upper(), _level(verbose, quiet=quiet))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(CleanFormatter(f"%(asctime)s {_FORMAT}" if with_time else _FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("toolcrib").setLevel(level)
    # The SDK logs every odd message with a traceback; what matters of it we report ourselves.
    logging.getLogger("mcp").setLevel(logging.DEBUG if verbose > 1 else logging.ERROR)


def _level(verbose: int, *, quiet: bool) -> int:
    if quiet:
        return logging.ERROR
    return (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]

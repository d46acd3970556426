"""Log lines on standard error; standard output belongs to the protocol."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_to_stderr(*, verbose: int, quiet: bool, env: Mapping[str, str]) -> None:
    """Set up logging for a command; `TOOLCRIB_LOG_LEVEL` (or the seeds' `MCP_LOG_LEVEL`) wins over the flags."""
    named = env.get("TOOLCRIB_LOG_LEVEL") or env.get("MCP_LOG_LEVEL") or ""
    level = logging.getLevelNamesMapping().get(named.upper(), _level(verbose, quiet=quiet))
    logging.basicConfig(stream=sys.stderr, format=_FORMAT, level=logging.WARNING, force=True)
    logging.getLogger("toolcrib").setLevel(level)
    # The SDK logs every odd message with a traceback; what matters of it we report ourselves.
    logging.getLogger("mcp").setLevel(logging.DEBUG if verbose > 1 else logging.ERROR)


def _level(verbose: int, *, quiet: bool) -> int:
    if quiet:
        return logging.ERROR
    return (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]

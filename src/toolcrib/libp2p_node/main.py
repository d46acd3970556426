"""The process that speaks libp2p for the engine. It decides nothing: who asks and what for is told to the engine."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import BinaryIO

from toolcrib.telemetry.logs import log_to_stderr


def main() -> None:
    """Serve the engine on standard input and output; what anything here prints goes to standard error."""
    # Libraries quote what strangers sent, and nothing of it may steer a terminal or be a key.
    log_to_stderr(verbose=0, quiet=False, env=os.environ, with_time=True)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        node = import_module("toolcrib.libp2p_node.node")
    except ImportError as problem:
        # The engine tells the person which extra has to be installed.
        _say_missing(out, problem)
        return
    node.run(sys.stdin.buffer, out)
    # Whatever a library left running must not keep us: the engine is gone, or has told us to end.
    os._exit(0)


def _say_missing(out: BinaryIO, problem: ImportError) -> None:
    out.write(json.dumps({"kind": "missing", "module": problem.name or "", "text": str(problem)}).encode() + b"\n")

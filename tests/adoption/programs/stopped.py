"""The command line, stopped at one of its renames: `stopped.py pause|kill NUMBER COMMAND...`.

`pause` writes a line to standard error and waits for one on standard input; `kill` ends the process as `kill -9` does.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

how, number, *words = sys.argv[1:]
replace = os.replace
count = 0


def stopped(source: Any, target: Any) -> None:
    global count  # noqa: PLW0603 - a counter of this process alone
    count += 1
    if count == int(number):
        if how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        print("paused", file=sys.stderr, flush=True)
        sys.stdin.readline()
    replace(source, target)


# Before anything else can have taken the real one.
os.replace = stopped

from toolcrib.cli.main import main  # noqa: E402

sys.exit(main(words))

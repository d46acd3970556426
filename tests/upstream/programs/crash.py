"""Says something on both streams, then ends as asked: with a status, or by a signal."""

import os
import sys

how, number = sys.argv[1], int(sys.argv[2])
sys.stdout.write('{"last": "line"}\n')
sys.stdout.flush()
sys.stderr.write("Traceback\n\x1b[31mRuntimeError: \x07no such database\x1b[0m\n")
sys.stderr.flush()
if how == "signal":
    os.kill(os.getpid(), number)
sys.exit(number)

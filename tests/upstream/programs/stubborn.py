"""Ignores SIGTERM and the end of its input, as do its two children; says all three process ids."""

import json
import os
import signal
import subprocess
import sys
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
SLEEPER = "import time; time.sleep(60)"  # the ignored signal is inherited
children = [subprocess.Popen([sys.executable, "-I", "-S", "-c", SLEEPER]) for _ in range(2)]
print(json.dumps([os.getpid(), *(child.pid for child in children)]), flush=True)
time.sleep(60)

"""Has one child in a session and one in a process group of its own; exits when its input ends, they do not."""

import json
import subprocess
import sys

SLEEPER = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"]
children = [subprocess.Popen(SLEEPER, start_new_session=True), subprocess.Popen(SLEEPER, process_group=0)]
print(json.dumps([child.pid for child in children]), flush=True)
sys.stdin.read()
for child in children:
    child.returncode = 0  # they are meant to outlive us

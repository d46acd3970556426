"""Leaves a child behind that holds the pipes, says its process id, and exits at once."""

import json
import subprocess
import sys

child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
print(json.dumps([child.pid]), flush=True)
sys.stderr.write("my work is done\n")
child.returncode = 0  # it is meant to outlive us

"""Writes many megabytes to standard error before it says its one line."""

import sys

for number in range(200):
    sys.stderr.write(f"{number:05d}" + "e" * 100_000 + "\n")
sys.stderr.write("the flood is over\n")
sys.stderr.flush()
print('{"done": true}', flush=True)
sys.stdin.read()

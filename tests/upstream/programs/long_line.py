"""Says a good line, then one of the given length."""

import sys

size = int(sys.argv[1])
sys.stdout.write('{"good": true}\n')
sys.stdout.flush()
sys.stdout.write("x" * size + "\n")
sys.stdout.write('{"late": true}\n')
sys.stdout.flush()
sys.stdin.read()

"""Closes the stream with the given number and stays."""

import os
import sys
import time

sys.stderr.write("going quiet\n")
os.close(int(sys.argv[1]))
time.sleep(60)

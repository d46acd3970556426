import os

# The texts are short: more threads only wait for each other, and slow a query down a hundredfold on a busy machine.
# It has to be said before numpy is loaded, which every module here does.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

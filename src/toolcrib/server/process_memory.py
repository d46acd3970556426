"""Settings of the process itself that make a long-running gateway steadier; each is a measured gain (docs/benchmarks.md)."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress

if sys.platform != "win32":
    import resource

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
KEPT_BYTES = 16 * 1024 * 1024
# What the interpreter starts with; whoever started us may have changed it.
USUAL_OPEN_FILES = 8_192
USUAL_GARBAGE_THRESHOLD = (700, 10, 10)


def share_memory() -> None:
    """Let glibc reuse the memory of large messages instead of asking the system for it, page by page, each time.

    All threads share one pool: otherwise each worker that ever learnt a tool would keep some of its own, which can't be given
    back. So call this before the first thread is started.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(_M_MMAP_THRESHOLD, KEPT_BYTES)
            mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
            mallopt(_M_ARENA_MAX, 1)


def settle() -> None:
    """Call once everything is imported and before the first request."""
    # What was imported stays for good: a full collection over it would stop every call for tens of milliseconds. For the
    # same reason none comes first: the client waits for its first answer, and loading leaves a few dozen objects of garbage.
    gc.freeze()
    # Loading a command looks for garbage seldom; calls make some, and a gateway that serves for days must not let it pile up.
    gc.set_threshold(*USUAL_GARBAGE_THRESHOLD)


def give_back() -> None:
    """Return freed memory to the system, after work that needed more of it than calls do."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # not every C library has it
            ctypes.CDLL(None).malloc_trim(0)


def resident_bytes() -> int:
    """The memory that this process has now; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, NameError):
        return 0


def open_files_limit() -> int:
    """How many files and connections this process may have open at the same time."""
    if sys.platform == "win32":
        return USUAL_OPEN_FILES
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return USUAL_OPEN_FILES if soft == resource.RLIM_INFINITY else soft

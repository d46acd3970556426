"""Windows: a child and all it starts, held in a job object that dies with the gateway."""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import sys
from ctypes import wintypes

assert sys.platform == "win32"

log = logging.getLogger(__name__)

_ACCOUNTING_INFORMATION = 1
_EXTENDED_LIMIT_INFORMATION = 9
_KILL_ON_JOB_CLOSE = 0x2000
_PROCESS_TERMINATE = 0x0001
_PROCESS_SET_QUOTA = 0x0100


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", ctypes.c_int64),
        ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", wintypes.DWORD),
        ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t),
        ("ActiveProcessLimit", wintypes.DWORD),
        ("Affinity", ctypes.c_size_t),
        ("PriorityClass", wintypes.DWORD),
        ("SchedulingClass", wintypes.DWORD),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("BasicLimitInformation", _BasicLimits),
        ("IoInfo", ctypes.c_uint64 * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


class _Accounting(ctypes.Structure):
    _fields_ = (
        ("Times", ctypes.c_int64 * 4),
        ("TotalPageFaultCount", wintypes.DWORD),
        ("TotalProcesses", wintypes.DWORD),
        ("ActiveProcesses", wintypes.DWORD),
        ("TotalTerminatedProcesses", wintypes.DWORD),
    )


_kernel = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel.CreateJobObjectW.argtypes = (wintypes.LPVOID, wintypes.LPCWSTR)
_kernel.CreateJobObjectW.restype = wintypes.HANDLE
_kernel.SetInformationJobObject.argtypes = (wintypes.HANDLE, ctypes.c_int, wintypes.LPVOID, wintypes.DWORD)
_kernel.QueryInformationJobObject.argtypes = (
    wintypes.HANDLE,
    ctypes.c_int,
    wintypes.LPVOID,
    wintypes.DWORD,
    wintypes.LPVOID,
)
_kernel.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
_kernel.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
_kernel.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
_kernel.OpenProcess.restype = wintypes.HANDLE
_kernel.CloseHandle.argtypes = (wintypes.HANDLE,)


class Family:
    """A job holding `leader` and its descendants; Windows ends them all when the last handle, ours, is closed."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._job: int | None = _kernel.CreateJobObjectW(None, None)
        limits = _ExtendedLimits()
        limits.BasicLimitInformation.LimitFlags = _KILL_ON_JOB_CLOSE
        _kernel.SetInformationJobObject(
            self._job, _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), ctypes.sizeof(limits)
        )
        self._hold(leader)

    def look(self) -> None:
        """Nothing to remember: no process leaves a job."""

    def is_alive(self) -> bool:
        """Whether any process of the job still runs."""
        if self._job is None:
            return False
        counts = _Accounting()
        known = _kernel.QueryInformationJobObject(
            self._job, _ACCOUNTING_INFORMATION, ctypes.byref(counts), ctypes.sizeof(counts), None
        )
        return bool(known) and counts.ActiveProcesses > 0

    def ask_to_end(self) -> None:
        with contextlib.suppress(OSError):
            os.kill(self._leader, signal.CTRL_BREAK_EVENT)

    def kill(self) -> None:
        """End every process of the job and give it back."""
        if self._job is not None:
            _kernel.TerminateJobObject(self._job, 1)
            _kernel.CloseHandle(self._job)
            self._job = None

    def _hold(self, leader: int) -> None:
        process = _kernel.OpenProcess(_PROCESS_TERMINATE | _PROCESS_SET_QUOTA, False, leader)
        if not process or not _kernel.AssignProcessToJobObject(self._job, process):
            log.warning("process %d could not be put into a job: error %d", leader, ctypes.get_last_error())
        if process:
            _kernel.CloseHandle(process)

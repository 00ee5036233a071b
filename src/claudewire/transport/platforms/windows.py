"""Windows: a job object, which ends with us and takes everything in it along.

A type checker has seen this, and readers: there is no Windows where the tests run.
"""

from __future__ import annotations

import ctypes
import signal
import subprocess
from ctypes import wintypes
from functools import cache
from typing import Any

from .child import Child
from .exits import Waiter

__all__ = ["Job", "WindowsChild", "adopt", "popen_options"]

_CREATE_SUSPENDED = 0x00000004
_CREATE_NO_WINDOW = 0x08000000
_KILL_ON_JOB_CLOSE = 0x00002000
_BASIC_ACCOUNTING = 1
_EXTENDED_LIMITS = 9


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("PerProcessUserTimeLimit", wintypes.LARGE_INTEGER),
        ("PerJobUserTimeLimit", wintypes.LARGE_INTEGER),
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
        ("IoInfo", ctypes.c_ulonglong * 6),
        ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t),
        ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    )


class _Accounting(ctypes.Structure):
    _fields_ = (
        ("TotalUserTime", wintypes.LARGE_INTEGER),
        ("TotalKernelTime", wintypes.LARGE_INTEGER),
        ("ThisPeriodTotalUserTime", wintypes.LARGE_INTEGER),
        ("ThisPeriodTotalKernelTime", wintypes.LARGE_INTEGER),
        ("TotalPageFaultCount", wintypes.DWORD),
        ("TotalProcesses", wintypes.DWORD),
        ("ActiveProcesses", wintypes.DWORD),
        ("TotalTerminatedProcesses", wintypes.DWORD),
    )


@cache
def _kernel() -> Any:  # pragma: no cover
    kernel = vars(ctypes)["WinDLL"]("kernel32", use_last_error=True)
    handle, number, pointer = wintypes.HANDLE, wintypes.DWORD, ctypes.c_void_p
    kernel.CreateJobObjectW.restype = handle
    kernel.CreateJobObjectW.argtypes = [pointer, wintypes.LPCWSTR]
    kernel.SetInformationJobObject.argtypes = [handle, ctypes.c_int, pointer, number]
    kernel.QueryInformationJobObject.argtypes = [handle, ctypes.c_int, pointer, number, pointer]
    kernel.AssignProcessToJobObject.argtypes = [handle, handle]
    kernel.TerminateJobObject.argtypes = [handle, wintypes.UINT]
    kernel.CloseHandle.argtypes = [handle]
    return kernel


def _resume(process: int) -> None:  # pragma: no cover
    resume = vars(ctypes)["WinDLL"]("ntdll").NtResumeProcess
    resume.argtypes = [wintypes.HANDLE]
    resume(process)


def _checked(outcome: Any) -> Any:  # pragma: no cover
    if not outcome:
        raise vars(ctypes)["WinError"](vars(ctypes)["get_last_error"]())
    return outcome


class Job:  # pragma: no cover
    """A set of processes that die together, and with the last handle to the set: ours."""

    def __init__(self) -> None:
        self._handle: int | None = _checked(_kernel().CreateJobObjectW(None, None))
        limits = _ExtendedLimits()
        limits.BasicLimitInformation.LimitFlags = _KILL_ON_JOB_CLOSE
        done = _kernel().SetInformationJobObject(
            self._handle, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
        )
        _checked(done)

    def take_in(self, process: int) -> None:
        """Put a process into it: all that this one starts will be in it, too."""
        _checked(_kernel().AssignProcessToJobObject(self._handle, process))

    def kill(self) -> None:
        """End all that is in it."""
        if self._handle is not None:
            _kernel().TerminateJobObject(self._handle, 1)

    def is_empty(self) -> bool:
        """Say whether nothing is left."""
        if self._handle is None:
            return True
        told = _Accounting()
        done = _kernel().QueryInformationJobObject(
            self._handle, _BASIC_ACCOUNTING, ctypes.byref(told), ctypes.sizeof(told), None
        )
        return bool(done) and told.ActiveProcesses == 0

    def close(self) -> None:
        """Let go of it, which ends what is in it."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _kernel().CloseHandle(handle)


class WindowsChild(Child):  # pragma: no cover
    """A process in a job."""

    def __init__(self, popen: subprocess.Popen[bytes], job: Job) -> None:
        self._job = job
        super().__init__(popen, Waiter(popen.wait), threads=True)

    def send_signal(self, number: int) -> None:
        """End the process alone: there is no other signal here.

        Raises:
            ValueError: it is not SIGTERM.
        """
        if number != signal.SIGTERM:
            raise ValueError("there is no signal on Windows but SIGTERM")
        if not self.poll():
            self._popen.terminate()

    def terminate(self) -> None:
        """Do nothing: the end of its input is all that it can be told."""

    def kill(self) -> None:
        """End all that is in the job."""
        self._job.kill()

    def _await_exit(self, seconds: float) -> bool:
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _before_release(self) -> None:
        """Nothing: a handle stands for the process, not a number."""

    def _is_company_alive(self) -> bool:
        return not self._job.is_empty()

    def close(self) -> None:
        """Let go of everything."""
        super().close()
        self._job.close()


def popen_options(user: str | int | None) -> dict[str, Any]:
    """Say how a process is to be started.

    Raises:
        ValueError: another user is asked for.
    """
    if user is not None:
        raise ValueError("a process of another user cannot be started on Windows")
    # Suspended, so that it starts nothing before it is in the job.
    return {"creationflags": _CREATE_SUSPENDED | _CREATE_NO_WINDOW}


def adopt(  # pragma: no cover
    popen: subprocess.Popen[bytes], *, threads: bool | None
) -> WindowsChild:
    """Take charge of a process that was started with these options. There are always threads."""
    process = int(vars(popen)["_handle"])
    job = Job()
    try:
        job.take_in(process)
        _resume(process)
        return WindowsChild(popen, job)
    except BaseException:
        job.close()
        raise

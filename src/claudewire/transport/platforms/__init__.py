"""What Linux and macOS do differently about child processes. Nothing else knows.

    child = start(argv, env=env)
    child.stdin, child.stdout, child.stderr   files that never block
    child.exited                              readable when the process has exited
    child.terminate(), child.kill()           it, and all that it has started
    child.release()                           reaps it, after it has exited
    child.is_left()                           whether anything of it is still alive

A child leads a session of its own, whose process group is signalled as a whole. A pidfd or, where
there is none, a thread learns of its exit. A mark in the environment shows what has left the group.
A guardian process ends all of it if we are killed.

The tests run on Linux, and there also what macOS needs: a thread instead of the pidfd, `ps` instead
of `/proc`. What only macOS has (learning of the exit from a kqueue, with Python before 3.13) has
never run. Windows is not supported.
"""

from __future__ import annotations

from .child import Child, start
from .guardian import forget_folder, watch_folder
from .marks import PROCESS_MARK

__all__ = ["PROCESS_MARK", "Child", "forget_folder", "start", "watch_folder"]

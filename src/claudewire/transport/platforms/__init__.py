"""Child processes on Linux and macOS: no other module knows the differences.

    child = start(argv, env=env)
    child.stdin, child.stdout, child.stderr   files that never block
    child.exited                              readable when the process has exited
    child.terminate(), child.kill()           it, and all that it has started
    child.release()                           reaps it, after it has exited
    child.kill_rest()                         kills its descendants until none is left

A child leads its own session, whose process group is signalled as a whole. A pidfd or, where
there is none, a thread learns of its exit. A mark in the environment shows processes that have left
the group. A guardian process ends all of it if we are killed.

The tests run on Linux, and there also the ways of macOS: a thread instead of the pidfd, `ps`
instead of `/proc`. Windows is not supported.
"""

from __future__ import annotations

from .child import Child, start
from .guardian import forget_folder, watch_folder
from .marks import PROCESS_MARK

__all__ = ["PROCESS_MARK", "Child", "forget_folder", "start", "watch_folder"]

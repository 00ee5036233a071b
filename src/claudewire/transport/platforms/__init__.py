"""All that Linux, macOS and Windows do differently about child processes. Nothing else knows.

    child = start(argv, env=env)
    child.stdin, child.stdout, child.stderr   never block; `fileno()` can be waited for
    child.exited                              readable when the process has exited
    child.terminate(), child.kill()           it, and all that it has started
    child.release()                           reaps it, after it has exited
    child.left()                              whether anything of it lives on

POSIX: a session of its own, whose process group is signalled as a whole; pipes that do not block;
a pidfd or, where there is none, a thread to learn of the exit; a guardian that ends the group if we
are killed. Windows: a job object, which the system ends together with us; threads that carry
between pipes and sockets, because nothing else can be waited for on every event loop.

The tests run on Linux, and there also the ways of the others as far as possible: threads instead
of pipes and pidfds, `ps` instead of `/proc`. What only macOS has (learning of the exit from a
kqueue, with Python before 3.13) and what only Windows has (job objects) was never run.

And of locks: `lock_exclusively(file)`.
"""

from __future__ import annotations

from .child import Child
from .ends import End, PipeEnd, SocketEnd
from .locking import lock_exclusively
from .starting import start

__all__ = ["Child", "End", "PipeEnd", "SocketEnd", "lock_exclusively", "start"]

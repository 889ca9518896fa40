"""Holds a process tree where there is no isolation. A program of its own, run by path: imports nothing of ours.

`python -I -S supervisor.py SPEC REPORT HOLD`: three inherited descriptors. SPEC is a marshalled dict `{argv, env,
cwd, home, parent}`. On REPORT goes `{"child-pid": n}` and then `{"exit-code": n}`, or, where the command could not
start, `{"errno": n, "at": "cwd"|"exec"}`. The tree ends with the command, with end of file on HOLD, on SIGTERM, and
with the engine's death. As the subreaper (prctl(2), PR_SET_CHILD_SUBREAPER) this process becomes the parent of every
orphan below it, so neither setsid nor a double fork gets away; it is done when it has no children left.

It starts with every command, so it imports little: `json`, `signal` (for its enums) and `typing` would each cost as
much as everything here together.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found] # the extension behind `signal`, without stubs
import ctypes
import marshal
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
#: seconds of killing without effect (a child that changed its user) before giving up
PATIENCE = 8.0


def main() -> None:
    spec_fd, report_fd, hold_fd = (int(word) for word in sys.argv[1:4])
    for fd in (spec_fd, report_fd, hold_fd):
        os.set_inheritable(fd, False)
    with os.fdopen(spec_fd, "rb") as file:
        spec = marshal.load(file)  # noqa: S302 - written by the engine, read from its own descriptor

    wake, waker = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    stop: list[bool] = []
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))

    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) or prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != spec["parent"]:
        return  # the engine died before its death could be told to us

    child = start(spec, report_fd)
    poller = select.poll()
    poller.register(wake, select.POLLIN)
    poller.register(hold_fd, select.POLLIN | select.POLLHUP)
    code = None
    while child is not None and code is None and not stop:
        for fd, _ in poller.poll():
            if fd == wake:
                os.read(wake, 4096)
            else:
                stop.append(True)
        code = reap(child)
    if code is not None:
        report(report_fd, b'{"exit-code": %d}' % code)
    sweep(wake)
    remove_home(spec["home"])


def start(spec: dict[str, Any], report_fd: int) -> int | None:
    """Fork and exec the command. Returns its pid, None where it could not start (and says so on REPORT)."""
    failed, fail = os.pipe()
    pid = os.fork()
    if pid == 0:
        at = b"cwd"
        try:
            # Python ignores these two; a child expects them to work
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            os.setsid()
            os.chdir(spec["cwd"])
            at = b"exec"
            os.execvpe(spec["argv"][0], spec["argv"], spec["env"])  # noqa: S606 - argv, no shell
        except OSError as error:
            os.write(fail, b"%d %s" % (error.errno or 0, at))
        finally:
            os._exit(127)
    os.close(fail)
    trouble = os.read(failed, 64)
    os.close(failed)
    report(report_fd, b'{"child-pid": %d}' % pid)
    if trouble:
        report(report_fd, b'{"errno": %s, "at": "%s"}' % tuple(trouble.split()))
        return None
    return pid


def report(fd: int, document: bytes) -> None:
    try:  # noqa: SIM105 - contextlib would cost a third of our start
        os.write(fd, document + b"\n")
    except BrokenPipeError:
        pass  # the engine is gone; the tree still has to die


def reap(child: int) -> int | None:
    """Collect every dead child; the exit code of `child` if it was among them (128 + n for signal n)."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            code = 128 - code if code < 0 else code


def sweep(wake: int) -> None:
    """Kill all descendants, again and again, until none is left."""
    deadline = time.monotonic() + PATIENCE
    poller = select.poll()
    poller.register(wake, select.POLLIN)
    while time.monotonic() < deadline:
        reap(0)
        if alone():
            return
        for pid, began in descendants():
            kill(pid, began)
        if poller.poll(20):
            os.read(wake, 4096)


def alone() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def descendants() -> list[tuple[int, int]]:
    """Pid and start time of every process below this one."""
    children: dict[int, list[tuple[int, int]]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (found := look(int(entry))):
            children.setdefault(found[0], []).append((int(entry), found[1]))
    below: list[tuple[int, int]] = []
    queue = [os.getpid()]
    while queue:
        own = children.get(queue.pop(), [])
        below += own
        queue += [pid for pid, _ in own]
    return below


def look(pid: int) -> tuple[int, int] | None:
    """Parent and start time (proc(5), fields 4 and 22 of stat), None for a process that is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[1]), int(fields[19])


def kill(pid: int, began: int) -> None:
    """SIGKILL through a pidfd, so that a number given to another process meanwhile is left alone."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return
    try:
        found = look(pid)
        if found and found[1] == began:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
    except OSError:
        pass
    finally:
        os.close(fd)


def remove_home(path: str) -> None:
    """The command's HOME goes with it, also when the engine is no longer there to do it."""
    try:
        os.rmdir(path)
    except OSError:
        os.execv("/bin/rm", ["rm", "-rf", "--", path])  # noqa: S606 - argv, no shell


if __name__ == "__main__":
    main()

"""The isolating back end: bubblewrap, with PID, mount, user, network, IPC and UTS namespaces of the command's own.

What the command sees is built from nothing: the system's programs and libraries read-only, a few files of `/etc`, its
own `/proc`, `/dev`, `/tmp` and HOME, and the folders that the command names, each at its own place. The engine's data,
home and environment are not there. Options travel on a descriptor, never in argv: values of `env:` stay out of `ps`,
and bubblewrap itself, which runs outside, starts with an empty environment (a step's LD_PRELOAD must not reach it).
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bot.errors import OperatorError
from bot.workspace.gateway import opened
from bot.workspace.large import with_large_values
from bot.workspace.live import Live, converse
from bot.workspace.process import Command, Completed
from bot.workspace.tree import Ended, Launch, drive, memory_file

HOME = "/home/step"
#: the user inside; outside it is the engine's. Not 0: some CLIs refuse to run as root
_UID = 1000
_FILES = {
    "/etc/passwd": "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
    f"step:x:{_UID}:{_UID}::{HOME}:/bin/bash\n",
    "/etc/group": f"root:x:0:\nstep:x:{_UID}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
}
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# nothing here may hold a secret: with an engine that runs as root, files of root are readable (no /etc/ssl/private,
# no shadow, no /etc/gitconfig); /opt stays out because operators install the engine there
_ETC = (
    "alternatives",
    "ca-certificates",
    "debian_version",
    "fonts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "lsb-release",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "pki/ca-trust/extracted",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "protocols",
    "services",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
)


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why bubblewrap does not work here, and what the operator can do."""

    reason: str
    mend: str


class Bubblewrap:
    """Runs commands in bubblewrap."""

    isolated = True

    def describe(self) -> str:
        return "bubblewrap: own PID, mount, user, network, IPC and UTS namespaces, no network but opened hosts"

    async def run(self, command: Command) -> Completed:
        """Run it to its end or its time-out. Raises OperatorError where bubblewrap or a folder is not as it should."""
        async with with_large_values(command) as given, opened(given) as reaching:
            launch = _prepared(reaching)
            try:
                ended = await drive(
                    launch,
                    stdin=command.stdin,
                    timeout=command.timeout,
                    max_stdout=command.max_stdout,
                    max_stderr=command.max_stderr,
                )
            except OSError as error:
                if error.errno == errno.E2BIG:  # the author's argument, not the operator's machine
                    return Completed(None, "", f"{command.argv[0]}: {os.strerror(errno.E2BIG)}\n", 0.0)
                raise OperatorError(f"cannot start bubblewrap: {error}", "see `threadsmith doctor`") from error
        return _completed(command, ended)

    @asynccontextmanager
    async def open(self, command: Command) -> AsyncIterator[Live]:
        """Start it to talk with; see `Sandbox.open`. Raises OperatorError as `run` does."""
        async with with_large_values(command) as given, opened(given) as reaching:
            launch = _prepared(reaching)
            async with converse(launch, partial(_completed, command), max_stderr=command.max_stderr) as live:
                yield live


def _prepared(command: Command) -> Launch:
    program = shutil.which("bwrap")
    if program is None:
        raise OperatorError("bubblewrap is no longer there", _INSTALL)
    with _data(arguments(command)) as (lines, fds):
        return _launch(program, command, lines, fds)


def _completed(command: Command, ended: Ended) -> Completed:
    stderr, missing = ended.stderr.text(), ""
    if ended.exit_code is None and not ended.timed_out:
        stderr, missing = _not_started(command, ended, stderr)
    return Completed(
        exit_code=ended.exit_code,
        stdout=ended.stdout.text(),
        stderr=stderr,
        duration=ended.duration,
        timed_out=ended.timed_out,
        missing=missing,
        stdout_bytes=ended.stdout.size,
    )


def _not_started(command: Command, ended: Ended, stderr: str) -> tuple[str, str]:
    """What to say of a command that never ran: its text and, where that is the reason, the missing program."""
    _, found, reason = stderr.rpartition(f"bwrap: execvp {command.argv[0]}: ")
    if found:
        return f"{command.argv[0]}: {reason}", command.argv[0] if reason.startswith("No such file") else ""
    _, found, reason = stderr.rpartition("bwrap: Can't chdir to ")
    if found:
        return f"cannot enter {reason}", ""
    raise OperatorError(f"bubblewrap ended without running the command: {stderr.strip()}", diagnose(stderr).mend)


def arguments(command: Command) -> list[str]:
    """bubblewrap's options for a command; `{name}` stands for the descriptor that holds the file of that name."""
    options = [
        *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup-try"),
        *("--uid", str(_UID), "--gid", str(_UID), "--hostname", "sandbox", "--cap-drop", "ALL"),
        *("--die-with-parent", "--new-session", "--clearenv"),
        *("--ro-bind", "/usr", "/usr"),
    ]
    for place in _SYSTEM:
        if os.path.islink(place):
            options += ["--symlink", os.readlink(place), place]
        elif os.path.isdir(place):
            options += ["--ro-bind", place, place]
    for name in _ETC:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for name in _FILES:
        options += ["--ro-bind-data", f"{{{name}}}", name]
    options += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", HOME]  # noqa: S108 - inside
    options += ["--dir", "/run", "--dir", "/var", "--symlink", "../tmp", "/var/tmp"]  # noqa: S108 - inside
    for path, writable in _binds(command):
        options += ["--bind" if writable else "--ro-bind", str(path), str(path)]
    options += ["--remount-ro", "/", "--chdir", str(command.cwd)]
    for name, value in command.environment(HOME).items():
        options += ["--setenv", name, value]
    return options


def _binds(command: Command) -> list[tuple[Path, bool]]:
    """Folders to bind, outer before inner, with whether they are writable.

    A path with a symbolic link in it is refused: an earlier child may have put it there to have the folder it points
    to, outside, bound for the next one.
    """
    binds = dict.fromkeys(command.writable, True) | dict.fromkeys(command.readable, False)
    if not any(command.cwd.is_relative_to(path) for path in binds):
        binds[command.cwd] = True
    for path in binds:
        if not path.is_absolute() or ".." in path.parts or path == Path("/"):
            raise OperatorError(f"`{path}` cannot be given to a command: it is no absolute path of a folder")
        for part in (path, *path.parents):
            try:
                if stat.S_ISLNK(os.lstat(part).st_mode):
                    raise OperatorError(f"`{path}` cannot be given to a command: `{part}` is a symbolic link")
            except OSError as error:
                raise OperatorError(f"`{path}` cannot be given to a command: {error.strerror}") from error
    return sorted(binds.items(), key=lambda bind: len(bind[0].parts))


@contextlib.contextmanager
def _data(options: Sequence[str]) -> Iterator[tuple[list[str], list[int]]]:
    """The options with descriptors of the made-up files filled in. They are closed only if the body raises."""
    fds: dict[str, int] = {}
    try:
        for name, content in _FILES.items():
            fds[f"{{{name}}}"] = memory_file(Path(name).name, content.encode())
        yield [str(fds.get(option, option)) for option in options], list(fds.values())
    except BaseException:
        for fd in fds.values():
            os.close(fd)
        raise


def _launch(program: str, command: Command, options: Sequence[str], fds: Sequence[int]) -> Launch:
    report, report_end = os.pipe()
    gate_end, gate = os.pipe()
    lines = [*options, "--json-status-fd", str(report_end), "--block-fd", str(gate_end)]
    source = memory_file("options", b"".join(line.encode("utf-8", "surrogateescape") + b"\0" for line in lines))
    return Launch(
        argv=(program, "--args", str(source), "--", *command.words()),
        fds=(source, report_end, gate_end, *fds),
        report=report,
        hold=gate,
        gate=True,
        leader=True,
    )


_INSTALL = "install the package `bubblewrap` (apt, dnf, pacman, apk and zypper all call it so)"
_NAMESPACES = (
    "allow user namespaces: `sysctl user.max_user_namespaces=15000`, on older Debian `sysctl"
    " kernel.unprivileged_userns_clone=1`, on Ubuntu an AppArmor profile for bwrap with `userns,` or `sysctl"
    " kernel.apparmor_restrict_unprivileged_userns=0`; in a container start it with `--security-opt"
    " seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined`"
)


def diagnose(stderr: str) -> Unusable:
    """What bubblewrap's own words mean for the operator."""
    text = stderr.strip() or "bubblewrap gave no reason"
    if "nknown option" in text:
        return Unusable(f"bubblewrap is too old ({text.splitlines()[0]})", "install bubblewrap 0.5 or newer")
    if any(word in text for word in ("namespace", "uid map", "Operation not permitted", "ermission denied", "RTM_")):
        return Unusable(f"user namespaces are forbidden here ({text.splitlines()[-1]})", _NAMESPACES)
    return Unusable(f"bubblewrap does not work here ({text.splitlines()[-1]})", "run `threadsmith doctor` for details")


async def probe() -> Unusable | None:
    """Try bubblewrap with the flags that every command gets. None where it works."""
    folder = Path("/usr")
    if shutil.which("bwrap") is None:
        return Unusable("bubblewrap is not installed", _INSTALL)
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        return Unusable(f"this kernel has no pidfds ({error.strerror})", "Linux 5.3 or newer is needed")
    try:
        done = await Bubblewrap().run(Command(("true",), folder, readable=(folder,), timeout=10))
    except OperatorError as error:
        return diagnose(error.message)
    if done.exit_code != 0:
        return diagnose(done.stderr)
    return None

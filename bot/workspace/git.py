"""The engine's own git: the real program, with everything that a repository or a machine could slip into it off.

The token is never in argv, in a configuration file or in a message: it goes into the process's environment as one
configuration value (`GIT_CONFIG_COUNT`, git-config(1)) that git sends to one URL only.
"""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from bot.errors import BotError, Forbidden, NotFound, OperatorError, Transient
from bot.workspace.process import Command
from bot.workspace.supervised import supervise

#: neither the machine's configuration nor the repository's may run a program or move a request
_CONFIG = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.alternateRefsCommand", ""),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("credential.helper", ""),
    ("http.followRedirects", "false"),
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "60"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("gc.autoDetach", "false"),
    ("maintenance.autoDetach", "false"),
)
_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C.UTF-8",
}
_OUTPUT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Credential:
    """A token for one remote: sent to URLs that begin with `url`, nowhere else."""

    url: str
    token: str = field(repr=False)

    def config(self) -> tuple[tuple[str, str], ...]:
        return ((f"http.{self.url}.extraHeader", f"Authorization: Basic {self._basic()}"),) if self.token else ()

    def _basic(self) -> str:
        return base64.b64encode(f"x-access-token:{self.token}".encode()).decode()

    def scrub(self, text: str) -> str:
        """The text without the token: plain, quoted for a URL, or in base64 at any of its three alignments."""
        if not self.token:
            return text
        raw = self.token.encode()
        forms = {self._basic(), quote(self.token, safe=""), self.token}
        for lead in range(3):
            # the first and last characters mix with their neighbours; those between are the token's own
            encoded = base64.b64encode(b"\0" * lead + raw).decode().rstrip("=")
            forms.add(encoded[(lead * 8 + 5) // 6 : (lead + len(raw)) * 8 // 6])
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, "***") if form else text
        return text


@dataclass(frozen=True, slots=True)
class GitResult:
    """What a git command said. `exit_code` is None after a time-out. `stderr` holds no token."""

    exit_code: int | None
    stdout: bytes
    stderr: str
    timed_out: bool = False


class Git:
    """Runs git. `environment` adds what the network needs here (proxies, a CA bundle); `timeout` is in seconds."""

    def __init__(self, *, environment: Mapping[str, str] | None = None, timeout: float = 600.0) -> None:
        self._environment = dict(environment or {})
        self._timeout = timeout

    async def run(
        self,
        *args: str,
        cwd: Path,
        credential: Credential | None = None,
        protocols: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> bytes:
        """Standard output of a git command. `protocols` are the transports it may use, none by default.

        Raises Forbidden, NotFound or Transient for what the remote said, OperatorError for everything else.
        """
        done = await self.attempt(*args, cwd=cwd, credential=credential, protocols=protocols, env=env, stdin=stdin)
        if done.exit_code != 0:
            raise fault(done) or failure(args, done)
        return done.stdout

    async def attempt(
        self,
        *args: str,
        cwd: Path,
        credential: Credential | None = None,
        protocols: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> GitResult:
        """As `run`, but a failing command is a result. Raises OperatorError only where git cannot be started."""
        program = shutil.which("git")
        if program is None:
            raise OperatorError("git is not installed", "install the package `git`")
        config = (*_CONFIG, *(credential.config() if credential else ()))
        variables = {"GIT_CONFIG_COUNT": str(len(config))}
        for index, (key, value) in enumerate(config):
            variables[f"GIT_CONFIG_KEY_{index}"] = key
            variables[f"GIT_CONFIG_VALUE_{index}"] = value
        command = Command(
            argv=(program, *args),
            cwd=cwd,
            env={
                **self._environment,
                **_ENVIRONMENT,
                **variables,
                "GIT_ALLOW_PROTOCOL": ":".join(protocols) or "none",
                **(env or {}),
            },
            stdin=stdin,
            timeout=self._timeout,
            max_stdout=_OUTPUT,
        )
        # under the supervisor, so that a fetch and its helpers die with us, on a cancellation, and after the time-out
        ended = await supervise(command)
        if ended.stdout.cut:
            raise OperatorError(f"git {args[0]} wrote more than {_OUTPUT} bytes")
        text = ended.stderr.text()
        return GitResult(
            exit_code=ended.exit_code,
            stdout=ended.stdout.raw(),
            stderr=credential.scrub(text) if credential else text,
            timed_out=ended.timed_out,
        )


_STATUS = re.compile(r"The requested URL returned error: (\d{3})")
_REFUSED = re.compile(r"Authentication failed|could not read (Username|Password)|terminal prompts disabled")
_ABSENT = re.compile(r"repository '[^']*' not found|couldn't find remote ref|Repository not found")
_NETWORK = re.compile(
    r"Could not resolve (host|proxy)|Failed to connect|Couldn't connect|Connection (refused|reset|timed out)"
    r"|timed out|early EOF|RPC failed|hung up unexpectedly|unexpected disconnect|transfer closed|Empty reply"
    r"|(SSL|TLS|gnutls|GnuTLS)|Operation too slow|Recv failure|Send failure|HTTP/2 stream",
)


def fault(done: GitResult) -> BotError | None:
    """What the remote or the way to it had to say, as our exception; None where the fault is not there."""
    text = _tail(done.stderr)
    if done.timed_out:
        return Transient("git took too long")
    if found := _STATUS.search(done.stderr):
        status = int(found[1])
        if status == 429 or status >= 500:
            return Transient(text, limited=status == 429)
        if status in (404, 410) or 300 <= status < 400:
            return NotFound(text)
        return Forbidden(text, status)
    if _REFUSED.search(done.stderr):
        return Forbidden(text, 401)
    if _ABSENT.search(done.stderr):
        return NotFound(text)
    return Transient(text) if _NETWORK.search(done.stderr) else None


def failure(args: Sequence[str], done: GitResult) -> OperatorError:
    """The exception for a fault of this machine."""
    if "No space left" in done.stderr:
        return OperatorError("the disk is full", "make room under BOT_DATA_DIR")
    return OperatorError(f"git {args[0]} failed: {_tail(done.stderr)}", "see the log and `threadsmith doctor`")


def _tail(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-3:]) or "git gave no reason"

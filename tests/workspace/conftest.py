"""Both isolation back ends, and a git server that speaks HTTP on loopback."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bot.workspace.bubblewrap import probe
from bot.workspace.sandbox import Sandbox, SandboxMode, open_sandbox


async def _need(mode: str) -> None:
    if mode == "required" and (found := await probe()):
        message = f"isolation cannot be tested here: {found.reason}. {found.mend}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)


@pytest.fixture(params=["required", "off"])
async def mode(request: pytest.FixtureRequest) -> SandboxMode:
    """Each way of running commands that works on this machine."""
    await _need(request.param)
    mode: SandboxMode = request.param
    return mode


@pytest.fixture
async def sandbox(mode: SandboxMode) -> Sandbox:
    return await open_sandbox(mode)


@pytest.fixture
async def isolated() -> Sandbox:
    await _need("required")
    return await open_sandbox("required")


class GitServer:
    """Serves the bare repositories in a folder to whoever knows the token. `status` makes every answer that status.

    `location` is where a redirecting status leads to.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.token = "ghs_canaryToken0123456789"
        self.status = 0
        self.location = ""
        self.requests: list[str] = []
        self.headers: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.answer(self)

            def do_POST(self) -> None:
                outer.answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden one
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def url(self, name: str = "repo") -> str:
        return f"{self.origin}/{name}.git"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        self.requests.append(request.path)
        self.headers.append(request.headers.get("Authorization") or "")
        wanted = "Basic " + base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        status = self.status or (200 if self.headers[-1] == wanted else 401)
        if status != 200:
            request.send_response(status)
            request.send_header("Content-Length", "0")
            if self.location:
                request.send_header("Location", self.location + request.path)
            if status == 401:
                request.send_header("WWW-Authenticate", 'Basic realm="git"')
            request.end_headers()
            return
        path, _, query = request.path.partition("?")
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            capture_output=True,
            check=True,
            env={
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(self.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REQUEST_METHOD": request.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": request.headers.get("Content-Type") or "",
                "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding") or "",
                "GIT_PROTOCOL": request.headers.get("Git-Protocol") or "",
                "REMOTE_ADDR": "127.0.0.1",
            },
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        request.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for name, value in fields.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)


class Origin:
    """A repository on the server, with a working copy to commit from."""

    def __init__(self, bare: Path, work: Path) -> None:
        self.bare = bare
        self.work = work
        bare.parent.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(bare), cwd=bare.parent)
        self.git("clone", "--quiet", str(bare), str(work), cwd=bare.parent)
        self.git("checkout", "--quiet", "-b", "main")

    def git(self, *args: str, cwd: Path | None = None) -> str:
        names = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "ana"), ("EMAIL", "ana@example.org"))
        }
        return subprocess.run(
            ["git", *args],
            cwd=cwd or self.work,
            check=True,
            capture_output=True,
            text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self.work), "GIT_CONFIG_NOSYSTEM": "1", **names},
        ).stdout.strip()

    def commit(self, files: dict[str, str], *, ref: str = "refs/heads/main") -> str:
        """Commit these files on top of what is checked out and push to `ref`. The commit."""
        for name, text in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.git("add", "--force", name)
        self.git("commit", "--quiet", "--allow-empty", "-m", "change")
        self.git("push", "--quiet", "--force", "origin", f"HEAD:{ref}")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    (tmp_path / "served").mkdir()
    server = GitServer(tmp_path / "served")
    yield server
    server.close()


@pytest.fixture
def origin(server: GitServer, tmp_path: Path) -> Origin:
    origin = Origin(server.root / "repo.git", tmp_path / "author")
    origin.commit({"README.md": "hello\n", "src/app.py": "print(1)\n", ".gitignore": "ignored\n"})
    return origin


@pytest.fixture
def processes() -> Callable[[str], list[int]]:
    """Pids of the machine's processes that have a word in their command line."""

    def find(word: str) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if word.encode() in words:
                    found.append(int(entry.name))
        return found

    return find

"""Git over HTTP: git's own `http-backend` as a CGI program, with GitHub's rules about who may read and push.

Sources: https://git-scm.com/docs/git-http-backend,
https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/authenticating-as-a-github-app-installation
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Literal

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from bot.demo.access import Seen
from bot.demo.faults import ReplyLost
from bot.demo.git import ZERO, environment
from bot.demo.records import Repository, User
from bot.demo.refusal import Refused
from bot.demo.rest.call import Viewer, authenticate
from bot.demo.world import World, covers
from bot.model.role import Role

_PATH = re.compile(r"/([^/]+)/([^/]+?)\.git(/(?:info/refs|git-upload-pack|git-receive-pack))")
_CHUNK = 65_536


def matches(path: str) -> bool:
    """Whether a path belongs to git."""
    return _PATH.fullmatch(path) is not None


class GitServer:
    """`/{owner}/{repo}.git/…`, with the token as the password of any user name (`x-access-token` by custom)."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        match = _PATH.fullmatch(scope["path"])
        assert match is not None
        owner, name, rest = match.groups()
        push = "git-receive-pack" in rest or request.query_params.get("service") == "git-receive-pack"
        fault = self._world.faults.take(request.method, scope["path"])
        viewer = Viewer("anonymous", "anonymous")
        if fault is not None and fault.until is not None:
            await fault.until.wait()
        try:
            if fault is not None and fault.status:
                raise Refused(fault.status, fault.message, headers=dict(fault.headers))
            viewer = authenticate(self._world, request.headers.get("authorization"))
            repo = self._allowed(viewer, f"{owner}/{name}", push)
            response: Response = await self._run(request, repo, rest, viewer.user)
        except Refused as refused:
            challenge = {"WWW-Authenticate": 'Basic realm="GitHub"'} if refused.status_code == 401 else {}
            response = PlainTextResponse(refused.message, refused.status_code, challenge | dict(refused.headers or {}))
        self._world.requests.append(
            Seen(request.method, scope["path"], request.url.query, response.status_code, "git",
                 dict(viewer.permissions), viewer.repository_ids, request.headers.get("user-agent", ""))
        )  # fmt: skip
        if fault is not None and fault.status == 0:
            raise ReplyLost(f"{request.method} {scope['path']}: the answer was lost")
        await response(scope, receive, send)

    def _allowed(self, viewer: Viewer, full_name: str, push: bool) -> Repository:
        """The repository, if the asker may read it or push to it. Raises 401 for nobody, else 403 or 404."""
        known = {repo.full_name.lower(): repo for repo in self._world.repositories.values()}
        repo = known.get(full_name.lower())
        level: Literal["read", "write"] = "write" if push else "read"
        if viewer.kind == "anonymous":
            if repo is None or repo.private or push:
                raise Refused(401, "Repository not found." if not push else "No anonymous write access.")
            return repo
        refusal = Refused(403, f"Write access to {full_name} not granted." if push else "Access denied.")
        if repo is None:
            raise Refused(404, "Repository not found.")
        if viewer.installation is not None:
            given = viewer.repository_ids
            inside = viewer.installation.holds(repo) and (given is None or repo.id in given)
            if viewer.installation.suspended_at is not None or not inside:
                raise Refused(404, "Repository not found.") if repo.private else refusal
            if not covers(viewer.permissions, "contents", level):
                raise refusal
        elif viewer.user is not None and not self._world.role(repo, viewer.user).at_least(
            Role.WRITE if push else Role.READ
        ):
            raise refusal if not repo.private else Refused(404, "Repository not found.")
        elif viewer.user is None:
            raise Refused(401, "Invalid username or token.")
        return repo

    async def _run(self, request: Request, repo: Repository, rest: str, who: User | None) -> Response:
        receives = rest.endswith("git-receive-pack") and request.method == "POST"
        before = await asyncio.to_thread(repo.git.refs) if receives else {}
        headers = request.headers
        variables = environment() | {
            "GIT_PROJECT_ROOT": str(repo.git.path),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": rest,
            "QUERY_STRING": request.url.query,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": headers.get("content-type", ""),
            "REMOTE_ADDR": "127.0.0.1",
            "GIT_PROTOCOL": headers.get("git-protocol", ""),
            "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""),
        }
        if who is not None:
            variables["REMOTE_USER"] = who.login
        if "content-length" in headers:
            variables["CONTENT_LENGTH"] = headers["content-length"]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            "git", "http-backend", stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=variables
        )
        feeding = asyncio.create_task(_feed(request, process))
        assert process.stdout is not None
        try:
            status, answer_headers = await _read_head(process.stdout)
        except BaseException:  # a cancellation too: a process that nobody waits for stays behind
            await asyncio.shield(_end(process, feeding))
            raise
        if receives:
            # a push must be known to the world before its answer is: whoever pushed may look at once
            body = await process.stdout.read()
            await asyncio.gather(feeding, process.wait())
            self._tell(repo, who, before, await asyncio.to_thread(repo.git.refs))
            return Response(body, status, answer_headers)
        return StreamingResponse(_rest(process, feeding), status, answer_headers)

    def _tell(self, repo: Repository, who: User | None, before: dict[str, str], after: dict[str, str]) -> None:
        for ref in sorted(before.keys() | after.keys()):
            old, new = before.get(ref, ZERO), after.get(ref, ZERO)
            if old != new:
                self._world.pushed(repo, who or repo.owner, ref, old, new)


async def _feed(request: Request, process: asyncio.subprocess.Process) -> None:
    """The request's body to the program, as it comes."""
    stdin = process.stdin
    assert stdin is not None
    try:
        async for chunk in request.stream():
            stdin.write(chunk)
            await stdin.drain()
        stdin.close()
        await stdin.wait_closed()
    except ClientDisconnect:
        process.kill()
    except (BrokenPipeError, ConnectionResetError):
        return  # it had read enough
    finally:
        stdin.close()


async def _read_head(stdout: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """The CGI program's header lines."""
    status, headers = 200, {}
    while (line := (await stdout.readline()).decode("latin-1").strip()) != "":
        name, _, value = line.partition(":")
        if name.lower() == "status":
            status = int(value.split()[0])
        else:
            headers[name] = value.strip()
    return status, headers


async def _rest(process: asyncio.subprocess.Process, feeding: asyncio.Task[None]) -> AsyncIterator[bytes]:
    assert process.stdout is not None
    try:
        while chunk := await process.stdout.read(_CHUNK):
            yield chunk
    finally:
        await asyncio.shield(_end(process, feeding))


async def _end(process: asyncio.subprocess.Process, feeding: asyncio.Task[None]) -> None:
    """Leave nothing of a git process behind, whether or not it had finished."""
    assert process.stdout is not None
    if process.returncode is None and not process.stdout.at_eof():
        with suppress(ProcessLookupError):
            process.kill()
    if process.stdin is not None:
        process.stdin.close()
    await asyncio.gather(feeding, process.wait(), return_exceptions=True)

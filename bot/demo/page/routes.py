"""The page's addresses: issue lists, threads, fragments, the live stream, files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from bot.demo.feed import Subscription
from bot.demo.page.actions import Actions
from bot.demo.page.reviewed import tally
from bot.demo.page.view import CONFIGURATION, Saw, View, calendar, moment
from bot.demo.records import Issue
from bot.demo.refusal import Refused, not_found
from bot.demo.world import World

__all__ = ["Page", "Saw"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_STATIC = {
    "page.css": "text/css",
    "thread.js": "text/javascript",
    "list.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
#: seconds between signs of life on a quiet stream
_HEARTBEAT = 15.0
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class Page:
    """The pages as an ASGI application. Requests under a foreign Host are refused: a name that somebody points at this
    machine must not reach what only this machine's user may do.
    """

    def __init__(self, world: World, *, saw: Saw | None = None, personas: tuple[str, ...] = ()) -> None:
        self._view = View(world, saw, personas)
        self._world = world
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("bot.demo.page"), autoescape=True, undefined=jinja2.StrictUndefined,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self._templates.filters |= {"moment": moment, "calendar": calendar}
        thread = "/_demo/{owner}/{repo}/issues/{number:int}"
        self._router = Router(
            [
                Route("/", self.home),
                Route("/_demo/static/{name}", self.static),
                Route("/_demo/avatars/{id:int}.svg", self.avatar),
                Route(f"{thread}/timeline", self.timeline),
                Route(f"{thread}/events", self.events),
                Route("/_demo/comments/{comment:int}/saw", self.saw),
                Route("/_demo/{owner}/{repo}/file", self.file, methods=["GET"]),
                *Actions(self._view).routes(),
                Route("/{owner}/{repo}", self.issues),
                Route("/{owner}/{repo}/issues", self.issues),
                Route("/{owner}/{repo}/issues/{number:int}", self.thread),
                Route("/{owner}/{repo}/pull/{number:int}", self.thread),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = urlsplit(f"//{Request(scope).headers.get('host', '')}").hostname
        try:
            if host not in _LOOPBACK | {urlsplit(self._world.site_url).hostname}:
                raise Refused(421, "This page answers under its own address only.")
            await self._router(scope, receive, send)
        except Refused as refused:
            await self._refuse(scope, refused)(scope, receive, send)

    def _refuse(self, scope: Scope, refused: Refused) -> Response:
        if scope["path"].startswith("/_demo/"):
            words = [
                str(error["message"])
                for error in refused.errors or []
                if isinstance(error, dict) and "message" in error
            ]
            return JSONResponse({"message": " ".join(words) or refused.message}, refused.status_code)
        return self._html("missing.html", refused.status_code, status=refused.status_code, message=refused.message)

    def _html(self, name: str, code: int = 200, /, **values: Any) -> HTMLResponse:
        body = self._templates.get_template(name).render(values)
        return HTMLResponse(body, code, _HEADERS)

    def _issue(self, request: Request) -> Issue:
        params = request.path_params
        return self._world.issue(f"{params['owner']}/{params['repo']}", params["number"])

    async def home(self, request: Request) -> Response:
        """The only thread there is, or all issues of all repositories."""
        rows = [issue for repo in self._world.repositories.values() for issue in repo.issues.values()]
        if len(rows) == 1:
            return RedirectResponse(self._view.thread_path(rows[0]), 302)
        repos = list(self._world.repositories.values())
        return self._html("list.html", repos=repos, cast=[], only=None)

    async def issues(self, request: Request) -> Response:
        """The issues of a repository, and a box for a new one."""
        repo = self._world.repository(f"{request.path_params['owner']}/{request.path_params['repo']}")
        return self._html("list.html", repos=[repo], cast=self._view.cast(repo), only=repo)

    async def thread(self, request: Request) -> Response:
        """A thread."""
        row = self._issue(request)
        repo = row.repository
        return self._html(
            "thread.html", **await self._timeline(row), cast=self._view.cast(repo),
            files=await self._view.files(repo), configuration=CONFIGURATION,
            text=await self._view.text(repo, CONFIGURATION),
        )  # fmt: skip

    async def _timeline(self, row: Issue) -> dict[str, Any]:
        pinned = self._view.entry(row.pinned) if row.pinned else None
        known = await self._view.known(row)
        entries = await self._view.entries(row, known)
        checks = self._view.checks(row.pull) if row.pull else []
        return {
            "issue": row, "repo": row.repository, "entries": entries, "pinned": pinned, "checks": checks,
            "tally": tally(checks), "offers": known.offers,
            "sees": self._view.saw is not None, "app": self._view.app(row.repository),
            "issue_url": self._world.site_url + self._view.thread_path(row),
        }  # fmt: skip

    async def timeline(self, request: Request) -> Response:
        """The thread's boxes alone, for the live page."""
        return self._html("_timeline.html", **await self._timeline(self._issue(request)))

    async def saw(self, request: Request) -> Response:
        """What the bot saw when it wrote a comment."""
        comment = self._world.find_comment(request.path_params["comment"])
        told = await self._view.saw(comment.id) if self._view.saw else None
        return self._html("_saw.html", saw=told, comment=comment)

    async def file(self, request: Request) -> Response:
        """A file's text, for the editor."""
        repo = self._world.repository(f"{request.path_params['owner']}/{request.path_params['repo']}")
        path = request.query_params.get("path", CONFIGURATION)
        if path not in await self._view.files(repo):
            raise not_found()
        return JSONResponse({"path": path, "text": await self._view.text(repo, path)}, headers=_HEADERS)

    async def events(self, request: Request) -> Response:
        """Changes of this thread and its repository, as server-sent events."""
        row = self._issue(request)
        stream = _stream(self._world.on_change(), row)
        return StreamingResponse(stream, headers=_HEADERS | {"X-Accel-Buffering": "no"}, media_type="text/event-stream")

    async def static(self, request: Request) -> Response:
        """Style and scripts."""
        name = request.path_params["name"]
        if name not in _STATIC:
            raise not_found()
        body = resources.files("bot.demo.page").joinpath("static", name).read_bytes()
        return Response(body, headers=_HEADERS, media_type=_STATIC[name])

    async def avatar(self, request: Request) -> Response:
        """A face for each account: its initial on a colour of its own."""
        for who in self._world.users.values():
            if who.id == request.path_params["id"]:
                hue = who.id * 137 % 360  # the golden angle: neighbours never look alike
                svg = self._templates.get_template("avatar.svg").render(who=who, hue=hue)
                return Response(svg, headers=_HEADERS, media_type="image/svg+xml")
        raise not_found()


async def _stream(changes: Subscription, row: Issue) -> AsyncIterator[str]:
    with changes:
        yield "retry: 1000\n\n"
        while True:
            try:
                change = await asyncio.wait_for(changes.next(), _HEARTBEAT)
            except TimeoutError:
                yield ": still here\n\n"
                continue
            if change is None:
                return
            if change.repository == row.repository.full_name and change.number in {None, row.number}:
                yield f"data: {json.dumps({'kind': change.kind, 'comment': change.comment_id})}\n\n"

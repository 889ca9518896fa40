"""What the page lets a person do, as small JSON requests.

The page can commit configuration that runs commands, so a request counts only if it comes from the page itself: JSON
(which no form of another site can send without asking first), no foreign `Origin`, and the Host that the world has.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from bot.demo.checklist import with_tick
from bot.demo.markdown import boxes
from bot.demo.page.view import View
from bot.demo.records import User
from bot.demo.refusal import Refused, not_found


class Actions:
    """Endpoints that change the world as a persona."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._world = view.world

    def routes(self) -> list[Route]:
        """Method, path and endpoint of each action."""
        thread = "/_demo/{owner}/{repo}/issues/{number:int}"
        return [
            Route("/_demo/{owner}/{repo}/issues", self.open_issue, methods=["POST"]),
            Route(f"{thread}/comments", self.comment, methods=["POST"]),
            Route("/_demo/comments/{comment:int}", self.edit, methods=["PATCH"]),
            Route("/_demo/comments/{comment:int}", self.delete, methods=["DELETE"]),
            Route(f"{thread}/boxes/{{box:int}}", self.tick_issue, methods=["PATCH"]),
            Route("/_demo/comments/{comment:int}/boxes/{box:int}", self.tick, methods=["PATCH"]),
            Route("/_demo/review_comments/{comment:int}/boxes/{box:int}", self.tick_review, methods=["PATCH"]),
            Route("/_demo/comments/{comment:int}/pin", self.pin, methods=["PUT", "DELETE"]),
            Route("/_demo/comments/{comment:int}/minimized", self.minimize, methods=["PUT", "DELETE"]),
            Route("/_demo/{owner}/{repo}/file", self.commit, methods=["PUT"]),
        ]

    async def _read(self, request: Request) -> tuple[User, dict[str, Any]]:
        """Who acts, and the other fields. Raises 403 for a request that is not the page's, 422 for a bad one."""
        origin, kind = request.headers.get("origin"), request.headers.get("content-type", "")
        if origin not in {None, self._world.site_url} or not kind.startswith("application/json"):
            raise Refused(403, "This is for the page itself.")
        try:
            body = json.loads(await request.body())
        except ValueError:
            raise Refused(400, "Problems parsing JSON") from None
        login = body.get("as") if isinstance(body, dict) else None
        for who in self._view.personas():
            if who.login == login:
                return who, body
        raise Refused(422, f"{login!r} is nobody whom this page may write as.")

    def _named(self, request: Request) -> str:
        return f"{request.path_params['owner']}/{request.path_params['repo']}"

    async def open_issue(self, request: Request) -> JSONResponse:
        """A new issue."""
        who, body = await self._read(request)
        made = self._world.open_issue(self._named(request), who, _text(body, "title"), _typed(body, "body"))
        return JSONResponse({"url": self._view.thread_path(made)}, 201)

    async def comment(self, request: Request) -> JSONResponse:
        """A new comment."""
        who, body = await self._read(request)
        made = self._world.comment(self._named(request), request.path_params["number"], who, _typed(body, "body"))
        return JSONResponse({"id": made.id}, 201)

    async def edit(self, request: Request) -> JSONResponse:
        """Another text for a comment."""
        who, body = await self._read(request)
        self._world.edit_comment(request.path_params["comment"], who, _typed(body, "body"))
        return JSONResponse({})

    async def tick(self, request: Request) -> JSONResponse:
        """A box of a comment's task list ticked, or emptied: an edit of its text; the new text comes back."""
        who, body = await self._read(request)
        row = self._world.find_comment(request.path_params["comment"])
        text = _ticked(row.body, request.path_params["box"], body)
        self._world.edit_comment(row.id, who, text)
        return JSONResponse({"source": text})

    async def tick_issue(self, request: Request) -> JSONResponse:
        """The same for the issue's own text."""
        who, body = await self._read(request)
        row = self._world.issue(self._named(request), request.path_params["number"])
        text = _ticked(row.body or "", request.path_params["box"], body)
        self._world.edit_issue(row.repository, row.number, who, body=text)
        return JSONResponse({"source": text})

    async def tick_review(self, request: Request) -> JSONResponse:
        """The same for a message of a review."""
        who, body = await self._read(request)
        row = self._world.review_comment(request.path_params["comment"])
        text = _ticked(row.body, request.path_params["box"], body)
        self._world.edit_review_comment(row.id, who, text)
        return JSONResponse({"source": text})

    async def delete(self, request: Request) -> JSONResponse:
        """A comment less."""
        who, _ = await self._read(request)
        self._world.delete_comment(request.path_params["comment"], who)
        return JSONResponse({})

    async def pin(self, request: Request) -> JSONResponse:
        """GitHub's own pin, set or taken away."""
        who, _ = await self._read(request)
        act = self._world.pin_comment if request.method == "PUT" else self._world.unpin_comment
        act(request.path_params["comment"], who)
        return JSONResponse({})

    async def minimize(self, request: Request) -> JSONResponse:
        """Hide a comment, or show it again."""
        who, _ = await self._read(request)
        self._world.minimize(request.path_params["comment"], who, "outdated" if request.method == "PUT" else None)
        return JSONResponse({})

    async def commit(self, request: Request) -> JSONResponse:
        """A file's new content, committed to the default branch."""
        who, body = await self._read(request)
        repo, path = self._world.repository(self._named(request)), _text(body, "path")
        if path not in await self._view.files(repo):
            raise not_found()
        sha = self._world.write_file(repo, path, _text(body, "text", empty=True), who, str(body.get("message") or ""))
        return JSONResponse({"sha": sha})


def _text(body: dict[str, Any], name: str, *, empty: bool = False) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not (value or empty):
        raise Refused(422, f"{name} is missing.")
    return value


def _ticked(source: str, number: int, body: dict[str, Any]) -> str:
    """The text with a box as asked. Raises 409 where it is no longer what the page saw: the box may be another's."""
    if not isinstance(ticked := body.get("ticked"), bool):
        raise Refused(422, "ticked is missing.")
    found = boxes(source)
    if _text(body, "source", empty=True) != source.replace("\r\n", "\n").replace("\r", "\n") or number >= len(found):
        raise Refused(409, "The text was changed meanwhile. Here it is as it is now; tick again if it still holds.")
    return with_tick(source, found[number], ticked)


def _typed(body: dict[str, Any], name: str) -> str:
    """Text from a text box: browsers send CRLF, and GitHub keeps it."""
    return _text(body, name, empty=True).replace("\r\n", "\n").replace("\n", "\r\n")

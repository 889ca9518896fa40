"""What every answer has: pages, conditional requests, limits, media types, and faults that a test switches on."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import pytest

from bot.demo.markdown import render
from tests.demo.scene import scene


def _links(answer: httpx.Response) -> dict[str, httpx.URL]:
    return {str(link["rel"]): httpx.URL(str(link["url"])) for link in answer.links.values()}


async def test_pages_of_comments(tmp_path: Path) -> None:
    """101 comments: two pages of 100; `Link` leads forward to the last and back to the first."""
    made = scene(tmp_path)
    with made.world.silence():
        for number in range(101):
            made.world.comment(made.repo, 1, "meg", f"comment {number}")
    here = made.path("/issues/1/comments")
    async with made.as_installation() as client:
        default = await client.get(here)
        assert [row["body"] for row in default.json()] == [f"comment {number}" for number in range(30)]
        first = await client.get(here, params={"per_page": 500})
        assert len(first.json()) == 100
        assert set(_links(first)) == {"next", "last"}
        last = await client.get(_links(first)["last"])
        assert [row["body"] for row in last.json()] == ["comment 100"]
        assert {rel: url.params["page"] for rel, url in _links(last).items()} == {"prev": "1", "first": "1"}
        middle = await client.get(here, params={"per_page": 20, "page": 3})
        pages = {rel: url.params["page"] for rel, url in _links(middle).items()}
        assert pages == {"prev": "2", "next": "4", "last": "6", "first": "1"}
        assert (await client.get(here, params={"page": 9})).json() == []
        assert "link" not in (await client.get(made.path("/issues"))).headers


async def test_comments_since(tmp_path: Path) -> None:
    """`since` counts by the last change, including the second itself."""
    made = scene(tmp_path)
    old = made.world.comment(made.repo, 1, "meg", "old")
    made.world.comment(made.repo, 1, "meg", "older")
    made.clock.advance(60)
    moment = made.world.now().isoformat()
    made.world.edit_comment(old.id, "meg", "edited")
    async with made.as_installation() as client:
        rows = (await client.get(made.path("/issues/1/comments"), params={"since": moment})).json()
        assert [row["body"] for row in rows] == ["edited"]
        assert rows[0]["updated_at"] > rows[0]["created_at"]


async def test_conditional_requests(tmp_path: Path) -> None:
    """The same answer is a 304 without a body that costs no request; another answer has another tag."""
    made = scene(tmp_path)
    here = made.path("/commits/main")
    async with made.as_installation() as client:
        sha = {"Accept": "application/vnd.github.sha"}
        first = await client.get(here, headers=sha)
        assert first.headers["content-type"].startswith("application/vnd.github.sha")
        same = await client.get(here, headers={**sha, "If-None-Match": first.headers["etag"]})
        assert (same.status_code, same.content) == (304, b"")
        assert same.headers["etag"] == first.headers["etag"]
        assert same.headers["x-ratelimit-remaining"] == first.headers["x-ratelimit-remaining"]
        full = await client.get(here, headers={"If-None-Match": first.headers["etag"]})
        assert (full.status_code, full.json()["sha"]) == (200, first.text)
        commit = made.world.write_file(made.repo, "new.txt", "x", "meg")
        fresh = await client.get(here, headers={**sha, "If-None-Match": first.headers["etag"]})
        assert (fresh.status_code, fresh.text) == (200, commit)
    assert [seen.status for seen in made.world.requests] == [200, 304, 200, 200]


async def test_rate_limit(tmp_path: Path) -> None:
    """Each token counts for itself; with nothing left 403 until the reset; asking for the limit is free."""
    made = scene(tmp_path)
    made.world.rate_limit = 2
    async with made.as_installation() as client, made.as_installation() as other:
        assert (await client.get(made.path())).headers["x-ratelimit-remaining"] == "1"
        assert (await client.get("/rate_limit")).json()["rate"]["remaining"] == 1
        assert (await client.get(made.path())).headers["x-ratelimit-remaining"] == "0"
        over = await client.get(made.path())
        assert (over.status_code, over.headers["x-ratelimit-remaining"]) == (403, "0")
        assert "rate limit exceeded" in over.json()["message"]
        assert (await other.get(made.path())).status_code == 200
        made.clock.advance(int(over.headers["x-ratelimit-reset"]) - made.clock.now().timestamp())
    async with made.as_installation() as client:
        assert (await client.get(made.path())).status_code == 200


async def test_a_client_must_say_who_it_is(tmp_path: Path) -> None:
    """No User-Agent: 403, as on GitHub."""
    made = scene(tmp_path)
    async with made.as_installation() as client:
        client.headers["User-Agent"] = ""
        assert (await client.get(made.path())).status_code == 403


async def test_body_variants(tmp_path: Path) -> None:
    """`full` has the text and its HTML beside the body, `html` only HTML."""
    made = scene(tmp_path)
    comment = made.world.comment(made.repo, 1, "meg", "**bold**")
    here = made.path(f"/issues/comments/{comment.id}")
    async with made.as_installation() as client:
        full = (await client.get(here, headers={"Accept": "application/vnd.github.full+json"})).json()
        assert (full["body"], full["body_html"]) == ("**bold**", render("**bold**"))
        html = (await client.get(here, headers={"Accept": "application/vnd.github.html+json"})).json()
        assert "body" not in html
        raw = {"Accept": "application/vnd.github.raw+json"}
        assert (await client.get(made.path("/contents/README.md"), headers=raw)).content == b"# parser\n"


async def test_reads_beside_the_prefix(tmp_path: Path) -> None:
    """A client whose base address has no `/api/v3` gets the same, and the log has one form of the path."""
    made = scene(tmp_path)
    async with made.as_installation() as client:
        assert (await client.get(f"{made.world.site_url}{made.path()}")).json()["id"] == made.repo.id
        await client.get(made.path())
    assert {seen.path for seen in made.world.requests} == {made.path()}


async def test_a_lost_reply(tmp_path: Path) -> None:
    """The comment is there and the client was not told; the next request is well."""
    made = scene(tmp_path)
    here = made.path("/issues/1/comments")
    fault = made.world.faults.lose_reply(path=".*/comments")
    async with made.as_installation() as client:
        with pytest.raises(httpx.ReadError):
            await client.post(here, json={"body": "once"})
        assert fault.met.is_set()
        assert [row["body"] for row in (await client.get(here)).json()] == ["once"]
        assert (await client.post(here, json={"body": "twice"})).status_code == 201


async def test_broken_before_and_after(tmp_path: Path) -> None:
    """A 5xx may come before or after the comment was made, for as many requests as asked."""
    made = scene(tmp_path)
    here = made.path("/issues/1/comments")
    async with made.as_installation() as client:
        made.world.faults.broken(503, "POST", count=2)
        for _ in range(2):
            assert (await client.post(here, json={"body": "x"})).status_code == 503
        assert made.world.comments(made.repo, 1) == []
        made.world.faults.broken(502, "POST", performed=True)
        assert (await client.post(here, json={"body": "x"})).status_code == 502
        assert len(made.world.comments(made.repo, 1)) == 1
        made.world.faults.broken(500, "GET", ".*/permission")
        assert (await client.get(here)).status_code == 200
        assert (await client.get(made.path("/collaborators/meg/permission"))).status_code == 500
        made.world.faults.broken(500)
        made.world.faults.clear()
        assert (await client.get(here)).status_code == 200


async def test_limits_that_a_test_switches_on(tmp_path: Path) -> None:
    """A secondary limit tells no time; another one tells a date or seconds."""
    made = scene(tmp_path)
    here, faults = made.path("/issues/1/comments"), made.world.faults
    moment = made.world.now() + timedelta(hours=1)
    async with made.as_installation() as client:
        faults.secondary_limit()
        faults.limited(moment)
        faults.limited(30, status=403)
        answers = [await client.post(here, json={"body": "x"}) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [403, 429, 403, 201]
    assert "secondary rate limit" in answers[0].json()["message"]
    assert "retry-after" not in answers[0].headers
    assert parsedate_to_datetime(answers[1].headers["retry-after"]) == moment
    assert answers[2].headers["retry-after"] == "30"


async def test_stale_listing(tmp_path: Path) -> None:
    """For a while a listing does not show what was written meanwhile; the comment itself can be read."""
    made = scene(tmp_path)
    here = made.path("/issues/1/comments")
    made.world.comment(made.repo, 1, "meg", "before")
    made.world.faults.stale_listing(30)
    late = made.world.comment(made.repo, 1, "meg", "meanwhile")
    async with made.as_installation() as client:
        assert [row["body"] for row in (await client.get(here)).json()] == ["before"]
        assert (await client.get(made.path(f"/issues/comments/{late.id}"))).status_code == 200
        made.clock.advance(30)
        assert len((await client.get(here)).json()) == 2


async def test_slow_and_held_answers(tmp_path: Path) -> None:
    """One waits by the world's clock, the other until it is let go."""
    made = scene(tmp_path)
    before = made.clock.now()
    async with made.as_installation() as client:
        made.world.faults.slow(20, "GET")
        await client.get(made.path())
        assert made.clock.now() - before == timedelta(seconds=20)
        held = made.world.faults.hold("GET")
        waiting = asyncio.create_task(client.get(made.path()))
        await held.met.wait()
        assert not waiting.done()
        assert held.until is not None
        held.until.set()
        assert (await waiting).status_code == 200

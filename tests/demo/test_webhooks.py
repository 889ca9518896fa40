"""Webhooks: who is told what, signed how, delivered when, and found again in the log."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from pathlib import Path

import httpx
import pytest

from bot.demo.deliveries import Deliverer
from tests.demo.scene import Scene, scene

URL = "http://bot.test/webhook"


class Receiver:
    """A front door that remembers; `status` is what it answers."""

    def __init__(self, status: int = 202) -> None:
        self.status = status
        self.requests: list[httpx.Request] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.status == 0:
            raise httpx.ConnectError("nobody there")
        if self.status == 1:
            raise httpx.ReadTimeout("no answer")
        return httpx.Response(self.status, json={"status": "accepted"})


def deliverer(made: Scene, receiver: Receiver) -> Deliverer:
    """A deliverer to a receiver in memory."""
    return Deliverer(made.world, URL, transport=httpx.MockTransport(receiver))


async def test_a_comment_is_told(tmp_path: Path) -> None:
    """One signed request with GitHub's headers and the comment as it stands."""
    made, receiver = scene(tmp_path), Receiver()
    async with deliverer(made, receiver) as sending:
        await sending.settle()
        receiver.requests.clear()
        comment = made.world.comment(made.repo, 1, "sam", "Hällo ✓")
        await sending.settle()
    [request] = receiver.requests
    digest = hmac.new(b"s3cret", request.content, hashlib.sha256).hexdigest()
    assert request.headers["X-Hub-Signature-256"] == f"sha256={digest}"
    assert request.headers["X-GitHub-Event"] == "issue_comment"
    assert request.headers["X-GitHub-Hook-Installation-Target-ID"] == str(made.app.id)
    assert request.headers["Content-Type"] == "application/json"
    assert len(request.headers["X-GitHub-Delivery"]) == 36
    body = json.loads(request.content)
    assert (body["action"], body["comment"]["id"], body["comment"]["body"]) == ("created", comment.id, "Hällo ✓")
    assert (body["sender"]["login"], body["installation"]["id"]) == ("sam", made.installation.id)
    assert body["issue"]["comments"] == 1


async def test_the_bots_own_comment_is_told_too(tmp_path: Path) -> None:
    """Its sender is the App's bot, and the comment says which App wrote it."""
    made = scene(tmp_path)
    async with made.as_installation() as client:
        await client.post(made.path("/issues/1/comments"), json={"body": "mine"})
    body = made.world.deliveries[-1].payload()
    assert (body["sender"]["login"], body["sender"]["type"]) == ("bot[bot]", "Bot")
    assert body["comment"]["performed_via_github_app"]["id"] == made.app.id


async def test_edits_tell_what_was_before(tmp_path: Path) -> None:
    """The old text is in `changes`; an edit that changes nothing is none; the sender is the editor."""
    made = scene(tmp_path)
    comment = made.world.comment(made.repo, 1, "sam", "old")
    made.world.edit_comment(comment.id, "meg", "new")
    body = made.world.deliveries[-1].payload()
    assert body["changes"] == {"body": {"from": "old"}}
    assert (body["sender"]["login"], body["comment"]["user"]["login"]) == ("meg", "sam")
    count = len(made.world.deliveries)
    made.world.edit_comment(comment.id, "meg", "new")
    assert len(made.world.deliveries) == count


def test_pins_are_told(tmp_path: Path) -> None:
    """One an issue: the second takes the first one's place, and its deletion leaves none."""
    made = scene(tmp_path)
    first, second = (made.world.comment(made.repo, 1, "sam", text) for text in ("one", "two"))
    made.world.pin_comment(first.id, "meg")
    made.world.pin_comment(second.id, "meg")
    told = [(row.action, row.payload()["comment"]["id"]) for row in made.world.deliveries[-3:]]
    assert told == [("pinned", first.id), ("unpinned", first.id), ("pinned", second.id)]
    body = made.world.deliveries[-1].payload()
    assert body["issue"]["pinned_comment"]["id"] == second.id
    assert body["comment"]["pin"]["pinned_by"]["login"] == "meg"
    made.world.delete_comment(second.id)
    assert made.world.deliveries[-1].payload()["issue"]["pinned_comment"] is None


def test_what_is_not_told(tmp_path: Path) -> None:
    """Reactions and hiding have no webhook; a suspended App, one elsewhere and one without the event hear nothing."""
    made = scene(tmp_path)
    world = made.world
    comment = world.comment(made.repo, 1, "sam", "x")
    count = len(world.deliveries)
    world.react(comment, "meg", "eyes")
    world.minimize(comment.id, "meg")
    hers = world.add_repository("meg", "hers")
    world.open_issue(hers, "meg", "Elsewhere")
    with world.silence():
        world.comment(made.repo, 1, "sam", "silent")
    made.app.events.remove("push")
    world.write_file(made.repo, "a.txt", "x", "meg")
    assert len(world.deliveries) == count
    world.suspend(made.installation)
    world.comment(made.repo, 1, "sam", "y")
    assert len(world.deliveries) == count + 1
    assert world.deliveries[-1].event == "installation"


def test_a_push_lists_its_files(tmp_path: Path) -> None:
    """Added, modified and removed paths, with the commits before and after."""
    made = scene(tmp_path)
    before = made.repo.git.resolve("main")
    made.world.write_files(made.repo, {"new.txt": "x", "README.md": "y", "run.sh": None}, "meg", "Three")
    body = made.world.deliveries[-1].payload()
    assert (body["ref"], body["before"], body["created"]) == ("refs/heads/main", before, False)
    assert body["after"] == body["head_commit"]["id"] == made.repo.git.resolve("main")
    [commit] = body["commits"]
    lists = (commit["added"], commit["modified"], commit["removed"])
    assert lists == (["new.txt"], ["README.md"], ["run.sh"])
    assert (commit["message"], commit["author"]["name"]) == ("Three", "Meg")


async def test_redelivery_and_replay(tmp_path: Path) -> None:
    """Redelivered: the same GUID and bytes, many times at once if asked. Replayed: the same bytes, another GUID."""
    made, receiver = scene(tmp_path), Receiver()
    async with deliverer(made, receiver) as sending:
        await sending.settle()
        guid = made.world.deliveries[-1].guid
        receiver.requests.clear()
        attempts = await asyncio.gather(*(sending.redeliver(guid) for _ in range(50)))
        assert all(attempt.redelivery for attempt in attempts)
        assert {request.headers["X-GitHub-Delivery"] for request in receiver.requests} == {guid}
        copy = await sending.replay(guid, "issues")
    assert copy.delivery.guid != guid
    assert len({request.content for request in receiver.requests}) == 1
    assert len(receiver.requests) == 51


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (202, 202, "Accepted"),
        (500, 500, "Internal Server Error"),
        (0, 502, "failed to connect to host"),
        (1, 504, "timed out"),
    ],
)
async def test_the_log_tells_what_became_of_it(tmp_path: Path, status: int, code: int, words: str) -> None:
    """What failed is not tried again, and can be found and asked for once more through the API."""
    made, receiver = scene(tmp_path), Receiver(status)
    async with deliverer(made, receiver) as sending:
        await sending.settle()
        count = len(receiver.requests)
        async with made.as_app() as app:
            rows = (await app.get("/app/hook/deliveries")).json()
            assert {(row["status_code"], row["status"]) for row in rows} == {(code, words)}
            assert [row["event"] for row in rows] == ["issues", "installation"]
            wanted = "success" if code < 400 else "failure"
            assert (await app.get("/app/hook/deliveries", params={"status": wanted})).json() == rows
            other = {"success": "failure", "failure": "success"}[wanted]
            assert (await app.get("/app/hook/deliveries", params={"status": other})).json() == []
            one = (await app.get(f"/app/hook/deliveries/{rows[0]['id']}")).json()
            assert one["request"]["payload"]["issue"]["number"] == 1
            assert (await app.post(f"/app/hook/deliveries/{rows[0]['id']}/attempts")).status_code == 202
            await sending.settle()
            assert len(receiver.requests) == count + 1
            again = (await app.get("/app/hook/deliveries")).json()[0]
            assert (again["guid"], again["redelivery"]) == (rows[0]["guid"], True)


async def test_the_log_by_cursor(tmp_path: Path) -> None:
    """Newest first, page after page, none twice."""
    made = scene(tmp_path)
    for number in range(5):
        made.world.comment(made.repo, 1, "sam", str(number))
    async with deliverer(made, Receiver()) as sending:
        await sending.settle()
    seen: list[int] = []
    async with made.as_app() as app:
        answer = await app.get("/app/hook/deliveries", params={"per_page": 3})
        while True:
            seen += [row["id"] for row in answer.json()]
            if "next" not in answer.links:
                break
            answer = await app.get(answer.links["next"]["url"])
        assert (await app.get("/app/hook/deliveries", params={"cursor": "v1"})).status_code == 400
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == len(set(seen)) == 7

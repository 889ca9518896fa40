"""The thread page without a browser: what it shows, what it lets people do, whom it lets in."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from bot.demo.known import Gate, Known
from bot.demo.page.routes import POLICY
from bot.demo.server import lookalike
from bot.model.state import GateState
from tests.demo.scene import Scene, Told, scene

THREAD = "/ana/parser/issues/1"
DEMO = f"/_demo{THREAD}"


SAW = {
    "run": "r4",
    "step": "triage.look",
    "model": "demo",
    "blocks": [{"kind": "pin", "label": "ana", "trust": "writer", "tokens": 1234, "text": "<b>Keep</b> 3.9"}],
    "comments": [{"author": "sam", "role": "read", "fate": "below trust", "bytes": 5, "excerpt": "<i>hello"}],
    "inputs": [{"name": "tests", "command": "pytest -q", "exit_code": 1, "duration_s": 0.5, "bytes": 9}],
}


def browser(
    made: Scene, *, told: Told | None = None, personas: tuple[str, ...] = (), **headers: str
) -> httpx.AsyncClient:
    """A client of the page under its own address."""
    transport = httpx.ASGITransport(lookalike(made.world, saw=told or Told(SAW), personas=personas))
    return httpx.AsyncClient(transport=transport, base_url=made.world.site_url, headers=headers)


async def test_the_page_shows_the_thread(tmp_path: Path) -> None:
    """Title, people with their roles, comments, pin, reactions, the bot, the configuration."""
    made = scene(tmp_path)
    world = made.world
    comment = world.comment(made.repo, 1, "sam", "**seen** <script>alert(1)</script>")
    world.pin_comment(comment.id, "meg")
    world.react(comment, "ana", "eyes")
    world.comment(made.repo, 1, made.app.bot, "Answer", app=made.app)
    async with browser(made) as client:
        answer = await client.get(THREAD)
    html = answer.text
    assert answer.headers["content-security-policy"] == POLICY
    for part in ("Crash on an empty size", "role-write", "<strong>seen</strong>", "pinned by meg", 'title="ana"',
                 "badge bot", "agents: {}", "What it saw", f'id="issuecomment-{comment.id}"'):  # fmt: skip
        assert part in html, part
    assert "<script>alert" not in html
    assert 'style="' not in html


async def test_a_tick_is_an_edit(tmp_path: Path) -> None:
    """By whoever may edit: of a comment, the bot's too, and of the issue's own text; one sign of the source changes."""
    made = scene(tmp_path)
    world = made.world
    source = "```\r\n- [ ] x\r\n```\r\n- [ ] approve\r\n- [ ] stop"
    asked = world.comment(made.repo, 1, made.app.bot, source, app=made.app)
    world.edit_issue(made.repo, 1, "meg", body="- [x] done")
    async with browser(made) as client:
        # as a browser has it, in which a text box knows one sort of line ends
        tick = {"as": "meg", "ticked": True, "source": source.replace("\r\n", "\n")}
        answer = await client.patch(f"/_demo/comments/{asked.id}/boxes/0", json=tick)
        assert answer.json() == {"source": asked.body}
        assert asked.body == source.replace("[ ] approve", "[x] approve")
        told = world.deliveries[-1].payload()
        assert (told["action"], told["sender"]["login"]) == ("edited", "meg")
        assert told["changes"] == {"body": {"from": source}}
        tick = {"as": "meg", "ticked": False, "source": "- [x] done"}
        assert (await client.patch(f"{DEMO}/boxes/0", json=tick)).status_code == 200
        assert made.issue.body == "- [ ] done"
        html = (await client.get(f"{DEMO}/timeline")).text
    assert "edited by meg</span>" in html
    assert "edited</span>" in html


async def test_a_tick_in_what_is_no_more(tmp_path: Path) -> None:
    """Refused where the text changed meanwhile, the box is not there, or the person may not edit: nothing changes."""
    made = scene(tmp_path)
    world, body = made.world, "- [ ] a\n- [ ] b"
    comment = world.comment(made.repo, 1, "meg", body)
    made.issue.body = body
    async with browser(made) as client:
        for path, change, status, words in (
            ("0", {"source": "- [ ] b\n- [ ] a"}, 409, "changed meanwhile"),
            ("2", {}, 409, "changed meanwhile"),
            ("0", {"as": "sam"}, 403, "write"),
            ("0", {"ticked": "yes"}, 422, "ticked"),
            ("0", {"source": None}, 422, "source"),
        ):
            tick = {"as": "meg", "ticked": True, "source": body} | change
            for place in (f"/_demo/comments/{comment.id}", DEMO):
                answer = await client.patch(f"{place}/boxes/{path}", json=tick)
                assert (answer.status_code, words in answer.json()["message"]) == (status, True), (path, change)
        gone = {"as": "meg", "ticked": True, "source": body}
        assert (await client.patch("/_demo/comments/1/boxes/0", json=gone)).status_code == 404
    assert (comment.body, made.issue.body) == (body, body)


async def test_what_the_bot_knows(tmp_path: Path) -> None:
    """Its pins with a way to take them away, its questions with what became of them, and what can be asked for now."""
    made, told = scene(tmp_path), Told(SAW)
    world = made.world
    rows = [world.comment(made.repo, 1, "sam", "Keep 3.9")]
    rows += [world.comment(made.repo, 1, made.app.bot, f"Build this? {at}", app=made.app) for at in range(3)]
    told.known = Known(
        {rows[0].id: "<meg>"},
        {
            rows[1].id: Gate(GateState.OPEN),
            rows[2].id: Gate(GateState.ANSWERED, "meg", "<yes>"),
            rows[3].id: Gate(GateState.EXPIRED),
        },
        ("approve", "stop"),
    )
    async with browser(made, told=told) as client:
        html = (await client.get(THREAD)).text
    boxes = [box for box in html.split("<article")[2:] if "</article>" in box]
    assert "pinned by &lt;meg&gt;" in boxes[0]
    assert f"@bot unpin https://github.test/ana/parser/issues/1#issuecomment-{rows[0].id}" in boxes[0]
    assert "Pin for @bot" not in boxes[0]
    found = [re.findall(r'badge gate (\w+)">([^<]+)<', box) for box in boxes]
    assert found == [
        [],
        [("open", "waits for an answer")],
        [("answered", "answered by meg: &lt;yes&gt;")],
        [("expired", "nobody answered in time")],
    ]
    assert 'data-offers="approve stop"' in html
    assert re.findall(r'data-offer="(\w+)" data-insert="@bot (\w+)"( hidden)?>', html) == [
        ("approve", "approve", ""),
        ("stop", "stop", ""),
        ("resume", "resume", " hidden"),
    ]


async def test_what_it_saw_is_offered_where_there_is_something(tmp_path: Path) -> None:
    """Not on people's comments, nor on those that asked no model."""
    made = scene(tmp_path)
    world = made.world
    world.comment(made.repo, 1, "sam", "hello")
    world.comment(made.repo, 1, made.app.bot, "What is pinned: no pins", app=made.app)
    answer = world.comment(made.repo, 1, made.app.bot, "An answer", app=made.app)
    async with browser(made) as client:
        boxes = (await client.get(THREAD)).text.split("<article")
    assert [f'id="issuecomment-{answer.id}"' in box for box in boxes if 'data-act="saw"' in box] == [True]


async def test_a_refusal_is_told_beside_the_comment(tmp_path: Path) -> None:
    """Why the bot did nothing, as text, where it was asked; nothing anywhere else."""
    made, told = scene(tmp_path), Told(SAW)
    asked = made.world.comment(made.repo, 1, "sam", "@bot close this")
    made.world.comment(made.repo, 1, "sam", "please")
    told.silences[asked.id] = "sam has the role <read>"
    async with browser(made, told=told) as client:
        boxes = (await client.get(f"{DEMO}/timeline")).text.split("<article")
    assert ["The bot stays silent: sam has the role &lt;read&gt;" in box for box in boxes] == [
        False,
        False,
        True,
        False,
    ]


async def test_commits_and_comments_stand_in_the_order_they_came(tmp_path: Path) -> None:
    """Within the same second too, and whatever the clock says; other branches are not shown, nor is the past."""
    made = scene(tmp_path)
    made.world.comment(made.repo, 1, "sam", "one")
    made.world.write_file(made.repo, "x", "1", "meg", "first commit")
    made.clock.advance(-3)
    made.world.write_file(made.repo, "x", "2", "meg", "second commit")
    made.world.write_file(made.repo, "y", "x", "meg", "not shown", branch="draft")
    made.world.comment(made.repo, 1, made.app.bot, "two", app=made.app)
    made.clock.advance(90)
    made.world.write_file(made.repo, "x", "3", "meg", "third commit")
    made.world.comment(made.repo, 1, "sam", "three")
    later = made.world.open_issue(made.repo, "sam", "Later")
    made.world.comment(made.repo, later.number, "sam", "elsewhere")
    made.world.write_file(made.repo, "x", "4", "meg", "fourth commit")
    made.world.comment(made.repo, 1, "sam", "four")
    async with browser(made) as client:
        html = (await client.get(f"{DEMO}/timeline")).text
        other = (await client.get(f"/_demo/ana/parser/issues/{later.number}/timeline")).text
    found = re.findall(r"<p>(one|two|three|four)</p>|</code> (\w+) commit<", html)
    assert [said or commit for said, commit in found] == [
        "one", "first", "second", "two", "third", "three", "fourth", "four",
    ]  # fmt: skip
    assert "not shown" not in html
    assert re.findall(r"</code> (\w+) commit<", other) == ["fourth"]


async def test_home_leads_to_the_only_thread(tmp_path: Path) -> None:
    """With one issue there is nothing to choose; with two there is a list."""
    made = scene(tmp_path)
    async with browser(made) as client:
        assert (await client.get("/")).headers["location"] == THREAD
        made.world.open_issue(made.repo, "sam", "Another <one>")
        assert "Another &lt;one&gt;" in (await client.get("/")).text
        assert "New issue" in (await client.get("/ana/parser/issues")).text
        assert (await client.get("/ana/nothing/issues")).status_code == 404
        assert (await client.get("/ana/parser/issues/99")).status_code == 404


async def test_people_write(tmp_path: Path) -> None:
    """Comment, edit, pin, hide, delete, commit and open an issue, each as the person chosen."""
    made = scene(tmp_path)
    world = made.world
    async with browser(made) as client:
        made_id = (await client.post(f"{DEMO}/comments", json={"as": "sam", "body": "one\ntwo"})).json()["id"]
        comment = world.find_comment(made_id)
        assert (comment.author.login, comment.body) == ("sam", "one\r\ntwo")
        here = f"/_demo/comments/{made_id}"
        assert (await client.patch(here, json={"as": "meg", "body": "three"})).status_code == 200
        assert comment.body == "three"
        assert (await client.put(f"{here}/pin", json={"as": "meg"})).status_code == 200
        assert made.issue.pinned is comment
        assert (await client.request("DELETE", f"{here}/pin", json={"as": "meg"})).status_code == 200
        assert (await client.put(f"{here}/minimized", json={"as": "meg"})).status_code == 200
        assert comment.minimized == "outdated"
        assert (await client.request("DELETE", here, json={"as": "sam"})).status_code == 200
        assert world.comments(made.repo, 1) == []
        file = {"as": "meg", "path": ".github/bot.yml", "text": "agents: 1\n", "message": "Break it"}
        sha = (await client.put("/_demo/ana/parser/file", json=file)).json()["sha"]
        assert made.repo.git.resolve("main") == sha
        shown = (await client.get("/_demo/ana/parser/file")).json()
        assert shown == {"path": ".github/bot.yml", "text": "agents: 1\n"}
        issue = {"as": "sam", "title": "Two", "body": "Text"}
        assert (await client.post("/_demo/ana/parser/issues", json=issue)).json() == {"url": "/ana/parser/issues/2"}
    assert [row.payload()["sender"]["login"] for row in world.deliveries[-2:]] == ["meg", "sam"]


async def test_people_are_told_why_not(tmp_path: Path) -> None:
    """A missing role, an empty comment, an unknown file, nobody: a status and words for the reader."""
    made = scene(tmp_path)
    comment = made.world.comment(made.repo, 1, "meg", "x")
    file = {"path": ".github/bot.yml", "text": ""}
    async with browser(made, personas=("meg", "sam")) as client:
        for method, path, body, status, told in (
            ("PUT", f"/_demo/comments/{comment.id}/pin", {"as": "sam"}, 403, "write"),
            ("PATCH", f"/_demo/comments/{comment.id}", {"as": "sam", "body": "y"}, 403, "write"),
            ("PUT", "/_demo/ana/parser/file", {"as": "sam", **file}, 403, "write"),
            ("PUT", "/_demo/ana/parser/file", {"as": "meg", **file, "path": "../x"}, 404, "Not Found"),
            ("POST", f"{DEMO}/comments", {"as": "sam", "body": " "}, 422, "blank"),
            ("POST", f"{DEMO}/comments", {"as": "sam"}, 422, "body"),
            ("POST", f"{DEMO}/comments", {"as": "ana", "body": "x"}, 422, "ana"),
            ("POST", f"{DEMO}/comments", {"as": "bot[bot]", "body": "x"}, 422, "bot"),
            ("DELETE", "/_demo/comments/1", {"as": "meg"}, 404, "Not Found"),
        ):
            answer = await client.request(method, path, json=body)
            assert (answer.status_code, told in answer.json()["message"]) == (status, True), (method, path, body)
    assert made.world.comments(made.repo, 1) == [comment]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 403),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://github.test"}, 201),
        ({"Host": "localhost:8000"}, 201),
    ],
)
async def test_other_sites_cannot_write(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    """A form or script of another site, or a name that somebody points here, changes nothing."""
    made = scene(tmp_path)
    body = b'{"as": "ana", "body": "x"}'
    async with browser(made) as client:
        answer = await client.post(
            f"{DEMO}/comments", content=body, headers={"Content-Type": "application/json", **headers}
        )
        assert answer.status_code == status
    assert len(made.world.comments(made.repo, 1)) == (status == 201)


async def test_what_the_bot_saw(tmp_path: Path) -> None:
    """Blocks, fates and inputs as text, never as markup; a comment without a prompt says so."""
    made = scene(tmp_path)
    comment = made.world.comment(made.repo, 1, made.app.bot, "Answer", app=made.app)
    async with browser(made) as client:
        html = (await client.get(f"/_demo/comments/{comment.id}/saw")).text
    for part in ("triage.look", "&lt;b&gt;Keep", "1,234", "below trust", "&lt;i&gt;hello", "0 of 1", "exit 1",
                 "pytest -q"):  # fmt: skip
        assert part in html, part
    transport = httpx.ASGITransport(lookalike(made.world))
    async with httpx.AsyncClient(transport=transport, base_url=made.world.site_url) as client:
        assert "No model was asked" in (await client.get(f"/_demo/comments/{comment.id}/saw")).text
        assert "What it saw" not in (await client.get(THREAD)).text


async def test_static_files(tmp_path: Path) -> None:
    """Style, scripts and faces with their types; nothing else of the folder."""
    made = scene(tmp_path)
    async with browser(made) as client:
        for name, kind in (("page.css", "text/css"), ("thread.js", "text/javascript"), ("icon.svg", "image/svg+xml")):
            answer = await client.get(f"/_demo/static/{name}")
            assert answer.headers["content-type"].startswith(kind)
        assert (await client.get("/_demo/static/..%2Fview.py")).status_code == 404
        face = await client.get(f"/_demo/avatars/{made.app.owner.id}.svg")
        assert face.headers["content-type"] == "image/svg+xml"
        assert (await client.get("/_demo/avatars/1.svg")).status_code == 404


async def test_changes_are_streamed(tmp_path: Path) -> None:
    """`on_change` gives each change in order, to everybody who listens, until it is closed."""
    made = scene(tmp_path)
    with made.world.on_change() as one, made.world.on_change() as two:
        comment = made.world.comment(made.repo, 1, "sam", "x")
        made.world.react(comment, "ana", "eyes")
        made.world.write_file(made.repo, "x", "x", "ana")
        made.world.feed.close()
        for stream in (one, two):
            seen = [(change.kind, change.number, change.comment_id) async for change in stream]
            assert seen == [("comment", 1, comment.id), ("reaction", 1, comment.id), ("push", None, None)]
    assert made.world.feed.subscriptions == set()

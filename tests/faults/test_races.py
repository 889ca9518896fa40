"""Things that GitHub tells in another order than they were done in, or twice, or while we do something about them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from sqlmodel import col, select

from bot.demo.records import Comment
from bot.demo.reviews import Remark
from bot.model.state import OutboxState
from bot.publish.marker import strip
from bot.store import Session
from bot.store.tables import Dispatch, Gate, Outbox, Pin
from tests.stage import Stage, open_stage

HEAD = "version: 1\nagents:\n  echo: {model: 'demo:echo', prompt: You repeat.}\nworkflows:\n"
GATE = """\
  ship:
    steps:
      - id: approve
        ask: Go on?
        options: {approve: build, stop: end}
        who: {role: maintain}
        timeout: 3d
        on_timeout: stop
      - {id: build, run: echo built}
"""
LABELS = """\
  first: {on: {labeled: [ready]}, steps: [{id: it, run: echo first}]}
  second: {on: {labeled: [bug]}, steps: [{id: it, run: echo second}]}
"""


class LateAnswers(httpx.AsyncBaseTransport):
    """Does every request at once, and holds back the answer of those that match until `come` is set."""

    def __init__(self, matches: Callable[[httpx.Request], bool], *, lose: bool = False) -> None:
        self._inner = httpx.AsyncHTTPTransport()
        self._matches = matches
        self._lose = lose
        #: set when such a request was done, and when its answer may come
        self.done = asyncio.Event()
        self.come = asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._inner.handle_async_request(request)
        if self._matches(request) and not self.come.is_set():
            await answer.aread()
            self.done.set()
            await self.come.wait()
            if self._lose:
                self._lose = False
                raise httpx.ReadError("the connection broke", request=request)
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()


def says(request: httpx.Request) -> bool:
    """Whether a request creates a comment of an issue."""
    return request.method == "POST" and request.url.path.endswith("/comments")


def changes(request: httpx.Request) -> bool:
    """Whether a request changes a comment of an issue."""
    return request.method == "PATCH" and "/issues/comments/" in request.url.path


@asynccontextmanager
async def playing(
    tmp_path: Path, workflows: str, transport: httpx.AsyncBaseTransport | None = None
) -> AsyncIterator[Stage]:
    """A stage on which nothing is looked for within a minute: what ends a doubt sooner is a webhook."""
    files = {".github/bot.yml": HEAD + workflows}
    async with open_stage(tmp_path, files, sandbox="off", transport=transport, look_at=(60, 120, 180)) as stage:
        yield stage


async def results(stage: Stage) -> list[tuple[OutboxState, int | None]]:
    def look(session: Session) -> list[tuple[OutboxState, int | None]]:
        rows = session.exec(select(Outbox).where(Outbox.action == "comment").order_by(col(Outbox.id)))
        return [(row.state, row.posted_id) for row in rows]

    return await stage.bot.store.read(look)


async def stands(stage: Stage, number: int = 1) -> list[Comment]:
    return [one for one in stage.world.comments(stage.repo, number) if one.author is stage.app.bot]


@pytest.mark.parametrize("lose", [False, True])
async def test_our_own_webhook_before_the_answer(tmp_path: Path, lose: bool) -> None:
    """Or instead of it: the slot is filled by what the delivery told, nothing is looked for and nothing said again."""
    late = LateAnswers(says, lose=lose)
    async with playing(tmp_path, "  go: {steps: [{id: it, run: echo done}]}\n", late) as stage:
        stage.world.comment(stage.repo, 1, "ana", "@bot go")
        await asyncio.wait_for(late.done.wait(), 20)
        await stage.deliverer.settle()
        (said,) = await stands(stage)
        async with asyncio.timeout(20):
            while (await results(stage))[0][1] != said.id:
                await asyncio.sleep(0.01)
        late.come.set()
        await stage.settle()
        assert await results(stage) == [(OutboxState.POSTED, said.id)]
        assert await stands(stage) == [said]
        assert stage.reads("/issues/1/comments") == []


async def test_two_labels_by_one_click(tmp_path: Path) -> None:
    """Two deliveries of one second with one thread and one person: each starts what listens to it, once."""
    async with playing(tmp_path, LABELS) as stage:
        stage.world.set_labels(stage.repo, 1, "meg", ["ready", "bug"])
        await stage.settle()
        for delivery in [one for one in stage.world.deliveries if one.action == "labeled"]:
            await stage.deliverer.redeliver(delivery.guid)
            await stage.deliverer.replay(delivery.guid)
        await stage.settle()
        commands = await stage.bot.store.read(lambda session: list(session.exec(select(Dispatch.command))))
        assert sorted(commands) == ["first", "second"]
        assert len(stage.replies()) == 2


@pytest.mark.parametrize(("remark", "count"), [("@bot echo look at it", 1), ("@bot echo and at this", 2)])
async def test_a_review_and_its_remark_by_one_click(tmp_path: Path, remark: str, count: int) -> None:
    """The same words in both are one request, other words are another; in whatever order they come."""
    async with playing(tmp_path, GATE) as stage:
        stage.world.write_files(stage.repo, {"size.py": "pass\n"}, "meg", "Size", branch="fix")
        number = stage.world.open_pull(stage.repo, "meg", "Size", head="fix").number
        await stage.settle()
        remarks = [Remark("size.py", remark, line=1)]
        stage.world.review(stage.repo, number, "ana", "@bot echo look at it", remarks=remarks)
        await stage.settle()
        for delivery in list(reversed(stage.world.deliveries))[:4]:
            await stage.deliverer.replay(delivery.guid)
        await stage.settle()
        made = await stage.bot.store.read(lambda session: list(session.exec(select(Dispatch.id))))
        assert len(made) == count


async def test_a_pin_that_takes_the_place_of_another(tmp_path: Path) -> None:
    """One click tells of the comment that is pinned no longer and of the one that is."""
    async with playing(tmp_path, GATE) as stage:
        first = await stage.says("ana", "Keep it small.")
        second = await stage.says("ana", "Keep it fast.")
        stage.world.pin_comment(first.id, "meg")
        await stage.settle()
        stage.world.pin_comment(second.id, "meg")
        await stage.settle()
        for delivery in [one for one in stage.world.deliveries if one.action in {"pinned", "unpinned"}]:
            await stage.deliverer.replay(delivery.guid)
        await stage.settle()
        pins = await stage.bot.store.read(lambda session: list(session.exec(select(Pin.comment_id, Pin.native))))
        assert pins == [(second.id, True)]


async def test_a_tick_while_our_edit_is_under_way(tmp_path: Path) -> None:
    """Ana may not, which we are about to say in the comment, when meg ticks: hers counts, once, and stands."""
    late = LateAnswers(changes)
    async with playing(tmp_path, GATE, late) as stage:
        await stage.says("ana", "@bot ship")
        (asked,) = await stands(stage)
        before = asked.body
        stage.world.edit_comment(asked.id, "ana", before.replace("- [ ] approve", "- [x] approve"))
        await asyncio.wait_for(late.done.wait(), 20)
        # her page shows what was there before our edit
        stage.world.edit_comment(asked.id, "meg", before.replace("- [ ] approve", "- [x] approve"))
        await stage.deliverer.settle()
        late.come.set()
        await stage.settle()
        settled, built = stage.replies()
        assert "✅ Answered by `meg`" in settled
        assert built.startswith("```text\nbuilt")
        answers = await stage.bot.store.read(lambda session: [gate.answer for gate in session.exec(select(Gate))])
        assert len(answers) == 1


async def test_a_tick_that_our_edit_overwrites(tmp_path: Path) -> None:
    """Meg ticks, and before we hear of it our edit about ana's tick takes the box back: hers counts all the same."""
    async with playing(tmp_path, GATE) as stage:
        await stage.says("ana", "@bot ship")
        (asked,) = await stands(stage)
        before, ticked = asked.body, asked.body.replace("- [ ] approve", "- [x] approve")
        held = stage.world.faults.hold("PATCH", ".*/issues/comments/.*")
        stage.world.edit_comment(asked.id, "ana", ticked)
        await asyncio.wait_for(held.met.wait(), 20)
        stage.world.edit_comment(asked.id, "ana", before)
        stage.world.edit_comment(asked.id, "meg", ticked)
        assert held.until is not None
        held.until.set()
        await stage.settle()
        assert "✅ Answered by `meg`" in strip(asked.body)
        assert [reply for reply in stage.replies() if "built" in reply] == [stage.replies()[-1]]


async def test_two_people_tick_at_once(tmp_path: Path) -> None:
    """Both may: the first counts, the run goes on once."""
    async with playing(tmp_path, GATE) as stage:
        stage.world.set_role(stage.repo, "sam", "maintain")
        await stage.says("ana", "@bot ship")
        (asked,) = await stands(stage)
        before = asked.body
        stage.world.edit_comment(asked.id, "meg", before.replace("- [ ] approve", "- [x] approve"))
        stage.world.edit_comment(asked.id, "sam", before.replace("- [ ] stop", "- [x] stop"))
        await stage.settle()
        answered = [reply for reply in stage.replies() if "Answered by `meg`" in reply]
        assert len(answered) == 1
        assert sum("built" in reply for reply in stage.replies()) == 1

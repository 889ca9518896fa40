"""Gates answered in the thread: boxes ticked, commands, and everything that does not count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest
from sqlmodel import select

from bot.app import Bot
from bot.demo.records import Comment
from bot.demo.server import LookAlikeServer
from bot.model.clock import SystemClock
from bot.publish.marker import strip
from bot.store import Session
from bot.store.tables import Gate, Run
from tests.databases import DATABASES
from tests.fake_llm import Reply
from tests.restarts import Scene, at_rest, until
from tests.stage import Stage, make_world, open_stage
from tests.stories.talking import agent, answer, calls, open_gates, operator, provider, stage_with, told

HEAD = "version: 1\nworkflows:\n  ship:\n    steps:\n"
APPROVE = """
      - {id: plan, run: "printf 'Step 1: read. Step 2: write.'"}
      - id: approve
        ask: Build this plan?
        show: "${{ steps.plan.output }}"
        options: {approve: build, revise: {rework: plan}, stop: end}
        rework: {to: plan, max_loops: 3, comments_as: review}
        who: {role: maintain}
        timeout: 3d
        on_timeout: stop
      - {id: build, run: "echo built, because $WHY", env: {WHY: "${{ steps.approve.result.text }}"}}
"""


@asynccontextmanager
async def asking(tmp_path: Path, steps: str = APPROVE, head: str = HEAD) -> AsyncIterator[Stage]:
    """A stage on which ana has asked for `ship`, and the question stands."""
    async with open_stage(tmp_path, {".github/bot.yml": head + steps.lstrip("\n")}, sandbox="off") as stage:
        await stage.says("ana", "@bot ship")
        yield stage


def question(stage: Stage, number: int = 1, place: int = -1) -> Comment:
    """The newest comment that asks."""
    found = [c for c in stage.world.comments(stage.repo, number) if c.author is stage.app.bot and "Asked by" in c.body]
    return found[place]


async def edits(stage: Stage, who: str, comment: Comment, body: str) -> None:
    """Somebody changes a comment; returns when the bot has nothing left to do."""
    stage.world.edit_comment(comment.id, who, body)
    await stage.settle()


async def ticks(stage: Stage, who: str, *labels: str, comment: Comment | None = None) -> None:
    """Somebody ticks boxes as GitHub's pages do: the text as it stands, line ends and all, with an x in the box."""
    comment = comment or question(stage)
    body = comment.body
    for label in labels:
        assert f"- [ ] {label}" in body
        body = body.replace(f"- [ ] {label}", f"- [x] {label}")
    await edits(stage, who, comment, body.replace("\n", "\r\n"))


async def test_what_is_asked(tmp_path: Path) -> None:
    """The question, what it is about, a box for each option, and the shortest way to answer."""
    async with asking(tmp_path) as stage:
        (asked,) = stage.replies()
        assert asked.startswith("**Build this plan?** Asked by `r1.approve`; a maintainer can answer until ")
        assert ", then `stop` is taken.\n\nStep 1: read. Step 2: write.\n\n" in asked
        assert (
            "- [ ] approve\n- [ ] revise: reply `@bot answer revise <what to change>` to say what\n- [ ] stop\n"
        ) in asked
        assert "<sub>Tick a box, or `@bot approve` · r1 · " in asked


async def test_a_tick(tmp_path: Path) -> None:
    """A maintainer ticks a box, and the run goes on."""
    async with asking(tmp_path) as stage:
        await ticks(stage, "meg", "approve")
        settled, result = stage.replies()
        assert "✅ Answered by `meg` on " in settled
        assert "**`approve`**" in settled
        assert "- [" not in settled
        assert result.startswith("```text\nbuilt, because")


async def test_a_command(tmp_path: Path) -> None:
    """Words behind it go to the next step, and the comment gets a thumb."""
    async with asking(tmp_path) as stage:
        said = await stage.says("meg", "@bot approve It is small")
        settled, result = stage.replies()
        assert "✅ Answered by `meg` on " in settled
        assert "> It is small" in settled
        assert "built, because It is small" in result
        assert stage.reactions(said) == ["+1"]


async def test_a_tick_of_somebody_who_may_not(tmp_path: Path) -> None:
    """The comment stands as it was, with why."""
    async with asking(tmp_path) as stage:
        await ticks(stage, "ana", "approve")
        (asked,) = stage.replies()
        assert "- [ ] approve" in asked
        assert "*The tick by `ana` does not count: `r1.approve` is for a maintainer; `ana` has write.*" in asked
        assert strip(question(stage).body) == asked


TWO = """
      - id: both
        parallel:
          branches:
            left: [{id: one, ask: First?}]
            right: [{id: two, ask: Second?}]
"""
FORM = """
      - id: form
        ask: How shall it be?
        questions:
          - {id: size, question: "How big?", type: number}
          - {id: colour, question: Which colour?, type: enum, options: [red, blue], required: false}
        writes: [size]
      - {id: make, run: "echo made $SIZE", env: {SIZE: "${{ ctx.size }}"}}
"""


# -- ways to answer ---------------------------------------------------------------------------------------------------


async def test_sent_back_by_command_and_asked_again(tmp_path: Path) -> None:
    """The words go to the step that is done again, and the next question is a comment of its own."""
    async with asking(tmp_path) as stage:
        await stage.says("meg", "@bot answer revise: leave the parser alone")
        first, second = stage.replies()
        assert "**`revise`**\n\n> leave the parser alone" in first
        assert "- [ ] approve" in second
        await ticks(stage, "meg", "stop")
        assert "**`stop`**" in stage.replies()[1]


async def test_a_form(tmp_path: Path) -> None:
    """Every question that needs it is answered at once, as `key=value`; what does not fit is told."""
    async with asking(tmp_path, FORM) as stage:
        (asked,) = stage.replies()
        assert "- `size`: How big? (number)\n- `colour`: Which colour? (`red`, `blue`, may be left out)" in asked
        assert "<sub>Reply `@bot answer size=…` · " in asked
        said = await stage.says("ana", "@bot answer colour=green")
        assert stage.reactions(said) == ["confused"]
        refused = stage.replies()[-1]
        assert "`size` needs an answer; `colour` takes one of `red`, `blue`." in refused
        assert refused.endswith(" Answer with `@bot answer size=… colour=…`.")
        await stage.says("ana", "@bot answer size=7 colour=red")
        assert "- How big?: `7`\n- Which colour?: `red`" in stage.replies()[0]
        assert "made 7" in stage.replies()[-1]


async def test_a_form_with_one_question_has_boxes(tmp_path: Path) -> None:
    """Its values can be ticked."""
    steps = """
      - {id: form, ask: Release?, questions: [{id: now, question: Release now?, type: bool}]}
      - {id: make, when: "steps.form.result.now", run: "echo released"}
"""
    async with asking(tmp_path, steps) as stage:
        assert "`now`: Release now?\n\n- [ ] yes\n- [ ] no" in stage.replies()[0]
        await ticks(stage, "ana", "yes")
        assert "released" in stage.replies()[-1]


async def test_free_text(tmp_path: Path) -> None:
    """Whatever is said behind `answer` is the answer."""
    steps = """
      - {id: why, ask: Why?, text: true}
      - {id: make, run: "echo because $WHY", env: {WHY: "${{ steps.why.result.text }}"}}
"""
    async with asking(tmp_path, steps) as stage:
        assert "Answer in your own words: `@bot answer <your words>`" in stage.replies()[0]
        await stage.says("ana", "@bot answer it was slow")
        assert "because it was slow" in stage.replies()[-1]


async def test_over_the_api(tmp_path: Path) -> None:
    """Where the gate says so, whoever runs the bot answers too; a later tick comes late."""
    async with asking(tmp_path, APPROVE.replace("{role: maintain}", "{role: maintain, dashboard: true}")) as stage:
        before = question(stage).body
        assert "a maintainer or whoever runs the bot can answer" in before
        async with operator(stage.bot) as client:
            await answer(client, (await open_gates(client))[0], "approve", "fine")
        await stage.settle()
        assert "✅ Answered by `operator`" in stage.replies()[0]
        await edits(stage, "meg", question(stage), before.replace("- [ ] stop", "- [x] stop"))
        (settled, _) = stage.replies()
        assert "✅ Answered by `operator`" in settled
        assert "*The tick by `meg` came late: `r1.approve` was answered by `operator`: `approve`.*" in settled
        assert "- [x]" not in settled


async def test_calls_of_a_tool(tmp_path: Path) -> None:
    """Whoever may command approves or refuses each call; a stranger does not."""
    script = (calls("add_labels", labels=["bug"]), calls("add_labels", labels=["ui"]), Reply("One of two."))
    with provider(*script) as fake:
        async with stage_with(tmp_path, fake, agent("[{name: add_labels, approval: true}]")) as stage:
            await stage.says("ana", "@bot helper sort")
            (asked,) = stage.replies()
            assert "anybody who can write here or whoever runs the bot can answer until" in asked
            await stage.says("sam", "@bot approve")
            await ticks(stage, "ana", "approve")
            first, second = stage.replies()
            assert "✅ Answered by `ana`" in first
            assert '"ui"' in second
            await stage.says("meg", "@bot reject that label is not for you")
            assert stage.replies()[-1].startswith("One of two.")
            assert [label.name for label in stage.world.issue(stage.repo, 1).labels] == ["bug"]
            assert "that label is not for you" in told(fake.requests[-1])[-1]


async def test_a_call_that_is_never_approved_as_it_was_asked(tmp_path: Path) -> None:
    """Three times the text was changed under the approval: the call does not run, and the model is told."""
    with provider(calls("add_labels", labels=["bug"]), Reply("Then not.")) as fake:
        async with stage_with(tmp_path, fake, agent("[{name: add_labels, approval: true}]")) as stage:
            await stage.says("ana", "@bot helper sort")
            for _ in range(3):
                comment = question(stage)
                altered = comment.body.replace("bug", "gub")
                stage.world.edit_comment(comment.id, "ana", altered)
                stage.world.edit_comment(comment.id, "meg", altered.replace("- [ ] approve", "- [x] approve"))
                await stage.settle()
            assert stage.replies()[-1].startswith("Then not.")
            assert stage.world.issue(stage.repo, 1).labels == []
            assert "did not count" in told(fake.requests[-1])[-1]


async def test_several_gates(tmp_path: Path) -> None:
    """A bare answer is told which there are; by name, whole or the step's alone, each is answered."""
    async with asking(tmp_path, TWO) as stage:
        said = await stage.says("ana", "@bot approve")
        assert stage.reactions(said) == ["confused"]
        listed = stage.replies()[-1]
        assert "Several questions wait for an answer here." in listed
        first = f"{stage.world.site_url}/acme/widgets/issues/1#issuecomment-{question(stage, place=0).id}"
        assert f"- [`r1.one`]({first}): `First?`, asked for by `ana`\n- [`r1.two`](" in listed
        assert listed.endswith("Say which one: `@bot approve r1.one`.")
        await stage.says("ana", "@bot answer reject it is bad")
        assert stage.replies()[-1].endswith("Say which one: `@bot answer r1.one reject …`.")
        await stage.says("ana", "@bot answer r1 reject it is bad")
        assert stage.replies()[-1].endswith("Say which one: `@bot answer r1.one reject …`.")
        await stage.says("ana", "@bot answer r1.one perhaps")
        assert stage.replies()[-1] == (
            "`perhaps` is no option. Answer with `@bot answer r1.one approve` or `@bot answer r1.one reject`."
        )
        await stage.says("ana", "@bot approve r1.two")
        await stage.says("ana", "@bot approve one because I say so")
        first, second = stage.replies()[:2]
        assert "> because I say so" in first
        assert "✅ Answered by `ana`" in second


async def test_a_workflow_that_asks_twice_at_once(tmp_path: Path) -> None:
    """Its questions are told apart by the steps that use it, and each is answered by that name."""
    text = """version: 1
workflows:
  sub: {export: {from: [ok]}, steps: [{id: ok, ask: Fine?}]}
  ship:
    steps:
      - id: both
        parallel:
          branches:
            a: [{id: left, uses: sub}]
            b: [{id: right, uses: sub}]
"""
    async with asking(tmp_path, "", text) as stage:
        await stage.says("ana", "@bot approve r1.ok")
        assert all(f"- [`r1.{side}.ok`](" in stage.replies()[-1] for side in ("left", "right"))
        await stage.says("ana", "@bot approve r1.right.ok")
        (right,) = (body for body in stage.replies() if "Asked by `r1.right.ok`." in body)
        assert "✅ Answered by `ana`" in right
        await stage.says("ana", "@bot answer left.ok reject")
        (left,) = (body for body in stage.replies() if "Asked by `r1.left.ok`." in body)
        assert "✅ Answered by `ana`" in left


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("answer approve", "**`approve`**"),
        ("answer approve because it is small", "**`approve`**\n\n> because it is small"),
        ("answer approve stop", "**`stop`**"),
        ("answer r1.approve stop it", "**`stop`**\n\n> it"),
        ("approve approve", "**`approve`**"),
    ],
)
async def test_a_step_called_as_an_option(tmp_path: Path, said: str, shown: str) -> None:
    """The word is the step where an option follows, else the option."""
    async with asking(tmp_path) as stage:
        await stage.says("meg", f"@bot {said}")
        assert shown in stage.replies()[0]


async def test_elements_are_asked_one_after_the_other(tmp_path: Path) -> None:
    """Each has a comment of its own."""
    steps = """
      - {id: ok, ask: "Take ${{ item.name }}?", each: {over: "${{ steps.list.result }}", as: item, key: name}}
"""
    listed = """
      - id: list
        code: "return [{'name': 'a'}, {'name': 'b'}]"
"""
    async with asking(tmp_path, listed + steps.lstrip("\n")) as stage:
        assert len([one for one in stage.replies() if "- [ ] approve" in one]) == 1
        await ticks(stage, "ana", "approve")
        await ticks(stage, "ana", "approve")
        first, second = stage.replies()[:2]
        assert first.startswith("**Take a?**")
        assert second.startswith("**Take b?**")
        assert all("✅ Answered by `ana`" in one for one in (first, second))


# -- who may not ------------------------------------------------------------------------------------------------------


async def test_who_may_not_command_gets_no_word(tmp_path: Path) -> None:
    """A reader's command is none; a reader cannot tick, and a bot that does has the comment put back in silence."""
    async with asking(tmp_path) as stage:
        stage.world.add_user("robot[bot]", type="Bot")
        stage.world.set_role(stage.repo, "robot[bot]", "maintain")
        (before,) = stage.replies()
        said = await stage.says("sam", "@bot approve")
        await ticks(stage, "robot[bot]", "approve")
        assert stage.replies() == [before]
        assert stage.reactions(said) == []


async def test_not_the_requester(tmp_path: Path) -> None:
    """Neither by a box nor by a command, whatever the role; somebody else may."""
    steps = APPROVE.replace("{role: maintain}", "{not_requester: true}")
    async with asking(tmp_path, steps) as stage:
        assert "anybody who can write here other than @ana can answer" in stage.replies()[0]
        await ticks(stage, "ana", "approve")
        why = "asked for r1, so somebody else has to answer: anybody who can write here other than `ana`."
        assert f"*The tick by `ana` does not count: `ana` {why}*" in stage.replies()[0]
        said = await stage.says("ana", "@bot approve")
        assert stage.reactions(said) == ["confused"]
        assert stage.replies()[-1] == f"You {why}"
        await ticks(stage, "meg", "approve")
        assert "✅ Answered by `meg`" in stage.replies()[0]


async def test_who_approved_may_not_ask_for_what_they_approved(tmp_path: Path) -> None:
    """A retry from behind the question would make one person both; somebody else may ask for it."""
    flag = tmp_path / "flag"
    steps = f"""
      - {{id: ok, ask: Ship?, options: {{approve: build, stop: end}}, who: {{role: maintain, not_requester: true}}}}
      - {{id: build, run: "test -e {flag} && echo SHIPPED"}}
"""
    async with asking(tmp_path, steps) as stage:
        await stage.says("meg", "@bot approve")
        flag.touch()
        await stage.says("meg", "@bot retry r1 from build")
        told = "Not done: the answer in `ok` is yours, and whoever asks may not answer it (`not_requester`)"
        assert stage.replies()[-1].startswith(told)
        await stage.says("ana", "@bot retry r1 from build")
        assert "SHIPPED" in stage.replies()[-1]


async def test_somebody_by_name(tmp_path: Path) -> None:
    """Who is named may answer with no other right here; others are told who may."""
    async with asking(tmp_path, APPROVE.replace("{role: maintain}", "{logins: [sam]}")) as stage:
        assert "; @sam can answer until" in stage.replies()[0]
        await stage.says("meg", "@bot approve")
        assert stage.replies()[-1] == "`r1.approve` is for `sam`."
        said = await stage.says("sam", "@bot approve")
        assert stage.reactions(said) == ["+1"]
        assert "✅ Answered by `sam`" in stage.replies()[0]


# -- what does not count ----------------------------------------------------------------------------------------------


async def test_two_boxes(tmp_path: Path) -> None:
    """Nothing is inferred."""
    async with asking(tmp_path) as stage:
        await ticks(stage, "meg", "approve", "stop")
        (asked,) = stage.replies()
        assert "*`meg` had ticked 2 boxes, and one is an answer.*" in asked
        assert "- [x]" not in asked


async def test_another_text(tmp_path: Path) -> None:
    """A plan that somebody changed stands there again as it was; a tick made with the change is none."""
    async with asking(tmp_path) as stage:
        body = question(stage).body.replace("write.", "delete all.").replace("- [ ] approve", "- [x] approve")
        await edits(stage, "meg", question(stage), body)
        (asked,) = stage.replies()
        assert "Step 2: write." in asked
        assert "- [ ] approve" in asked
        assert "*`meg` had changed this text; it stands here as it was asked.*" in asked
        await ticks(stage, "meg", "approve")
        assert "✅ Answered by `meg`" in stage.replies()[0]


@pytest.mark.parametrize("left", [".", "- [x] approve"])
async def test_an_emptied_comment(tmp_path: Path, left: str) -> None:
    """It says again what it asked."""
    async with asking(tmp_path) as stage:
        (before,) = stage.replies()
        await edits(stage, "meg", question(stage), left)
        (asked,) = stage.replies()
        assert asked.startswith(before.partition("\n\n- [ ]")[0])
        assert "- [ ] approve" in asked


async def test_a_deleted_comment(tmp_path: Path) -> None:
    """As long as it asks, it is posted again, and can be answered there; afterwards it stays away."""
    async with asking(tmp_path) as stage:
        gone = question(stage)
        stage.world.delete_comment(gone.id, "meg")
        await stage.settle()
        assert question(stage).id != gone.id
        assert "*`meg` had deleted this question; it is asked here again.*" in question(stage).body
        await ticks(stage, "meg", "approve")
        settled = question(stage)
        assert "✅ Answered by `meg`" in settled.body
        stage.world.delete_comment(settled.id, "meg")
        await stage.settle()
        assert not [one for one in stage.replies() if "Asked by" in one]


async def test_a_tick_on_the_text_before_ours(tmp_path: Path) -> None:
    """Whoever had the page open while a note was added has ticked what was asked all the same: once."""
    async with asking(tmp_path) as stage:
        stale = question(stage).body
        await ticks(stage, "ana", "stop")  # a note says that it does not count
        assert question(stage).body != stale
        await edits(stage, "meg", question(stage), stale.replace("- [ ] approve", "- [x] approve"))
        settled, result = stage.replies()
        assert "✅ Answered by `meg`" in settled
        assert "built" in result


async def test_told_twice(tmp_path: Path) -> None:
    """The same click in two deliveries is one answer, and nobody is told that it came late."""
    async with asking(tmp_path) as stage:
        await ticks(stage, "meg", "approve")
        before = stage.replies()
        edited = [one for one in stage.world.deliveries if one.event == "issue_comment" and one.action == "edited"]
        by_meg = next(one for one in edited if one.payload()["sender"]["login"] == "meg")
        stage.world.emit(
            "issue_comment",
            "edited",
            stage.repo,
            stage.world.user("meg"),
            **{key: by_meg.payload()[key] for key in ("issue", "comment", "changes")},
        )
        await stage.settle()
        assert stage.replies() == before


async def test_words_where_nobody_is_asked(tmp_path: Path) -> None:
    """A late answer is told what became of the question, and is no request; where nobody was asked, it is one."""
    async with asking(tmp_path) as stage:
        await ticks(stage, "meg", "stop")
        became = "Nothing waits for an answer here. `r1.approve` was answered by `meg`: `stop`."
        for words in (
            "approve",
            "approve it is small",
            "reject no",
            "answer revise leave it",
            "approve r1 yes",
        ):
            late = await stage.says("ana", f"@bot {words}")
            assert stage.reactions(late) == ["confused"]
            assert stage.replies()[-1] == (became if "r1" not in words else became.partition(" here. ")[2])
        await stage.says("ana", "@bot approve r1.approve")
        assert "`r1.approve` was answered by `meg`: `stop`" in stage.replies()[-1]
        other = stage.world.open_issue(stage.repo, "sam", "another", "body").number
        said = await stage.says("ana", "@bot approve the plan of last week, please", other)
        assert stage.reactions(said) == ["rocket"]


async def test_days_after_the_last_answer(tmp_path: Path) -> None:
    """Words behind `approve` are a request again; a bare one is still told what became of the question."""
    async with asking(tmp_path) as stage:
        await ticks(stage, "meg", "stop")

        def days_ago(session: Session) -> None:
            (gate,) = session.exec(select(Gate)).all()
            then = SystemClock().now() - timedelta(days=2)
            gate.opened_at, gate.answer = then, {**(gate.answer or {}), "at": then.isoformat()}
            (run,) = session.exec(select(Run)).all()
            run.queued_at = then
            session.add_all([gate, run])

        await stage.bot.store.write(days_ago)
        await stage.says("ana", "@bot approve")
        assert "`r1.approve` was answered by `meg`: `stop`." in stage.replies()[-1]
        said = await stage.says("ana", "@bot approve the plan of last week, please")
        assert stage.reactions(said) == ["rocket"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("approve r9", "There is no question of r9 here. What waits here: [`r1.approve`](http"),
        ("approve r9, it is fine", "There is no question of r9 here."),
        ("reject r1.plan: no", "There is no question `r1.plan` here."),
        ("approve what does the second step do?", "That ends with a question mark, so `r1.approve` still waits."),
        ("approve r1?", "If you approve, write `@bot approve r1.approve` without it."),
        ("approve?", "That ends with a question mark"),
        ("answer r1 perhaps", "`perhaps` is no option. Answer with `@bot answer approve`, `@bot answer revise` or `"),
        ("reject", "`reject` is no option. Answer with `@bot answer approve`, `@bot answer revise` or `@bot answer s"),
    ],
)
async def test_what_does_not_answer(tmp_path: Path, words: str, told: str) -> None:
    """The name of a run is never a reason, and doubt is no approval: the question stays open."""
    async with asking(tmp_path) as stage:
        before = question(stage).body
        said = await stage.says("meg", f"@bot {words}")
        assert stage.reactions(said) == ["confused"]
        assert told in stage.replies()[-1]
        assert question(stage, place=0).body == before
        await stage.says("meg", "@bot approve r1")
        assert "✅ Answered by `meg`" in stage.replies()[0]


async def test_a_gate_without_that_option(tmp_path: Path) -> None:
    """It says what can be answered."""
    async with asking(tmp_path) as stage:
        said = await stage.says("meg", "@bot reject")
        assert stage.reactions(said) == ["confused"]
        assert stage.replies()[-1].startswith("`reject` is no option. Answer with `@bot answer")


# -- what an answer is bound to ---------------------------------------------------------------------------------------


async def test_approved_on_a_changed_text_is_void(tmp_path: Path) -> None:
    """It is asked again in a new comment, and the old one says why."""
    async with asking(tmp_path, APPROVE) as stage:
        altered = question(stage).body.replace("write.", "delete all.")
        comment = question(stage)
        # both happen before the bot has looked
        stage.world.edit_comment(comment.id, "ana", altered)
        stage.world.edit_comment(comment.id, "meg", altered.replace("- [ ] approve", "- [x] approve"))
        await stage.settle()
        old, new = stage.replies()
        assert "↩️ Void: its text had been changed by `ana` when it was answered.\n\nAsked again below." in old
        assert "*Asked again (2 of 3): its text had been changed by `ana` when it was answered.*" in new
        assert "Step 2: write." in new
        assert "- [ ] approve" in new
        await ticks(stage, "meg", "approve")
        assert "✅ Answered by `meg`" in stage.replies()[1]


class Holding(httpx.AsyncBaseTransport):
    """Lets everything through, but for requests whose path ends so while they are held."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport()
        self.path, self.let, self.met = "", 0, asyncio.Event()
        self.free = asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.path and request.method == "GET" and request.url.path.endswith(self.path):
            if self.let == 0:
                self.met.set()
                await self.free.wait()
            self.let -= 1
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def pull_of(stage: Stage) -> int:
    """A pull request of meg's."""
    stage.world.write_file(stage.repo, "size.py", "pass\n", "meg", branch="fix")
    return stage.world.open_pull(stage.repo, "meg", "Mend it", head="fix").number


def push(stage: Stage, text: str) -> str:
    """Somebody pushes to its branch; the new head, short."""
    return str(stage.world.write_file(stage.repo, "size.py", text, "meg", branch="fix"))[:7]


OK = """
      - {id: ok, ask: Merge this?}
      - {id: after, run: "echo merged", workspace: none}
"""


async def test_pushed_before_the_answer(tmp_path: Path) -> None:
    """The answer was about another commit: the question shows the new one, and nothing is counted."""
    async with open_stage(tmp_path, {".github/bot.yml": HEAD + OK.lstrip("\n")}, sandbox="off") as stage:
        number = pull_of(stage)
        await stage.says("ana", "@bot ship", number)
        old = question(stage, number).body
        with stage.world.silence():
            head = push(stage, "1\n")
        await ticks(stage, "meg", "approve", comment=question(stage, number))
        (asked,) = stage.replies(number)
        assert f" at head {head}</sub>" in asked
        assert f"*The head moved from {old.rpartition('at head ')[2][:7]} to {head}.*" in asked
        # in the second of our own edit nobody has read it yet
        changed = question(stage, number).updated_at
        await until(lambda: stage.world.now() > changed)
        said = await stage.says("ana", "@bot approve", number)
        assert stage.reactions(said) == ["+1"]
        assert "merged" in stage.replies(number)[-1]


async def test_pushed_after_the_answer(tmp_path: Path) -> None:
    """What was approved is not there any more: void, and asked again for the new head, three times at most."""
    held = Holding()
    async with open_stage(
        tmp_path, {".github/bot.yml": HEAD + OK.lstrip("\n")}, sandbox="off", transport=held
    ) as stage:
        number = pull_of(stage)
        await stage.says("ana", "@bot ship", number)
        for time in range(1, 4):
            # the answer reads the head once; the run that goes on reads it again
            held.path, held.let = f"/pulls/{number}", 1
            held.met, held.free = asyncio.Event(), asyncio.Event()
            comment = question(stage, number)
            stage.world.edit_comment(comment.id, "meg", comment.body.replace("- [ ] approve", "- [x] approve"))
            await held.met.wait()
            with stage.world.silence():
                head = push(stage, f"{time}\n")
            held.path = ""
            held.free.set()
            await stage.settle()
            asks = [one for one in stage.replies(number) if "Asked by" in one]
            if time < 3:
                assert len(asks) == time + 1
                assert f" at head {head}</sub>" in asks[-1]
                assert f"Asked again ({time + 1} of 3): the head moved" in asks[-1]
            assert "↩️ Void: the head moved from" in asks[time - 1]
        assert "Not asked again" in asks[-1]
        assert " failed: `gate_void` it asked 3 times" in stage.replies(number)[-1]


# -- time -------------------------------------------------------------------------------------------------------------


def passes(here: Scene, hours: float) -> None:
    """Time goes by while the bot is away."""
    data = here.folder / "data"
    for table, columns in (("gate", ("deadline", "remind_at", "opened_at")), ("run", ("not_before",))):
        for column in columns:
            for row_id, at in DATABASES.rows(data, f"SELECT id, {column} FROM {table} WHERE {column} IS NOT NULL"):
                # SQLite keeps times as text
                then = datetime.fromisoformat(at) if isinstance(at, str) else at
                earlier = then - timedelta(hours=hours)
                changed = earlier.isoformat(" ", "microseconds") if isinstance(at, str) else earlier
                DATABASES.change(data, f"UPDATE {table} SET {column} = ? WHERE id = ?", changed, row_id)


async def asks(here: Scene, bot: Bot, body: str) -> None:
    """ana comments; returns when the bot has nothing left to do."""
    here.world.comment("acme/widgets", 1, "ana", body)
    await until(lambda: all(made.attempts for made in here.world.deliveries))
    await at_rest(bot)


async def test_a_reminder_and_the_end_across_restarts(tmp_path: Path) -> None:
    """At half time one short comment names who is asked for; when nobody answers the option is taken."""
    steps = APPROVE.replace("{role: maintain}", "{role: maintain, logins: [meg]}")
    world, _, app, _ = make_world(tmp_path / "github", {".github/bot.yml": HEAD + steps.lstrip("\n")})
    async with LookAlikeServer(world):
        here = Scene(world, app, tmp_path)
        async with here.bot() as (bot, _):
            await asks(here, bot, "@bot ship")
            (asked,) = here.replies()
        passes(here, 35)
        async with here.bot() as (bot, _):
            await at_rest(bot)
            assert here.replies() == [asked]
        passes(here, 2)
        for _ in range(2):
            async with here.bot() as (bot, _client):
                await until(lambda: len(here.replies()) == 2)
                await at_rest(bot)
                kept, reminder = here.replies()
                assert kept == asked
                assert reminder.startswith("@meg `r1.approve` still waits for an answer: [Build this plan?](http")
                assert ", then `stop` is taken." in reminder
        passes(here, 40)
        async with here.bot() as (bot, _):
            await until(lambda: "⌛" in here.replies()[0])
            await at_rest(bot)
            settled, *_rest = here.replies()
            assert "⌛ Nobody answered until" in settled
            assert "`stop` was taken" in settled


async def test_a_no_with_its_reason(tmp_path: Path) -> None:
    """The step fails, and the end says who said no, in their words: nothing broke, so that no 😕 stands there."""
    async with asking(tmp_path, "\n      - {id: ok, ask: Fine?}\n") as stage:
        await stage.says("ana", "@bot reject too dear")
        assert "**`reject`**\n\n> too dear" in stage.replies()[0]
        assert stage.replies()[-1].startswith("**`ship` was stopped: `ana` said no.**\n\n> too dear\n\n<sub>")

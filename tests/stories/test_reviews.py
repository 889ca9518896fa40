"""Reviews are threads too: asked at a line, answered at that line; changes requested, mended at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlmodel import col, select

from bot.demo.records import Pull, Review, ReviewComment, ReviewThread
from bot.demo.reviews import Remark
from bot.model.state import OutboxState
from bot.publish.marker import strip
from bot.store import snapshots
from bot.store.tables import Attempt, Dispatch, Outbox
from tests.stage import Stage, open_stage
from tests.stories.test_people import release

BOT_YML = """\
version: 1
default: triage
agents:
  triage: {model: "demo:helper", prompt: You triage.}
workflows:
  check: {steps: [{id: a, run: echo checked}]}
  breaks: {steps: [{id: a, run: "exit 3"}]}
  mend: {steps: [{id: a, run: echo mended}]}
"""
SIZE = "def parse_size(text):\n    return int(text or 0)\n"


@asynccontextmanager
async def on_a_pull(tmp_path: Path, author: str = "meg", text: str = BOT_YML) -> AsyncIterator[tuple[Stage, Pull]]:
    """A stage with a pull request that changes `src/size.py`; `author` is who opened it, `bot` for the App."""
    async with open_stage(tmp_path, {".github/bot.yml": text, "README.md": "# widgets\n"}) as stage:
        world = stage.world
        world.write_file(stage.repo, "src/size.py", SIZE, "meg", branch="fix")
        app = stage.app if author == "bot" else None
        who = stage.app.bot if author == "bot" else author
        pull = world.open_pull(stage.repo, who, "Take nothing for 0", head="fix", app=app)
        await stage.settle()
        yield stage, pull


def remark(body: str, line: int = 2) -> Remark:
    return Remark("src/size.py", body, line)


async def reviewed(
    stage: Stage, pull: Pull, body: str, *remarks: Remark, author: str = "ana", state: str = "COMMENTED"
) -> Review:
    """Somebody submits a review; returns when the bot has nothing left to do."""
    made = stage.world.review(stage.repo, pull.number, author, body, state=state, remarks=remarks)  # type: ignore[arg-type]  # one of GitHub's words
    await stage.settle()
    return made


async def answered(stage: Stage, comment: ReviewComment, body: str, author: str = "ana") -> ReviewComment:
    """Somebody goes on in a review thread."""
    made = stage.world.reply(comment.id, author, body)
    await stage.settle()
    return made


def said(stage: Stage, thread: ReviewThread) -> list[str]:
    """The bot's replies in a review thread, oldest first."""
    return [strip(one.body) for one in thread.comments if one.author is stage.app.bot]


def reacted(stage: Stage, what: ReviewComment | Review) -> list[str]:
    return sorted(one.content for one in what.reactions if one.user is stage.app.bot)


async def prompts(stage: Stage) -> list[str]:
    """Every prompt that was sent, oldest first."""
    query = select(Attempt.prompt_blob).where(col(Attempt.prompt_blob).is_not(None)).order_by(col(Attempt.id))
    digests = await stage.bot.store.read(lambda session: list(session.exec(query)))
    found = []
    for digest in digests:
        assert digest is not None
        data = await stage.bot.store.read(lambda session, one=digest: snapshots.get_blob(session, one))  # type: ignore[misc]  # mypy infers no type for a default
        found.append(data.decode())
    return found


async def test_asked_at_a_line_and_answered_there(tmp_path: Path) -> None:
    """👀 on the review comment, then 🚀, and the result as a reply; nothing in the conversation."""
    async with on_a_pull(tmp_path) as (stage, pull):
        await reviewed(stage, pull, "", remark("Why 0?"))
        (thread,) = pull.review_threads
        asked = await answered(stage, thread.comments[0], "@bot check")
        (reply,) = said(stage, thread)
        assert reply.startswith("```text\nchecked\n```")
        assert thread.comments[-1].thread is thread
        assert reacted(stage, asked) == ["rocket"]
        assert stage.replies(pull.number) == []
        rows = await stage.bot.store.read(lambda s: list(s.exec(select(Outbox).where(Outbox.action == "comment"))))
        assert [(row.target_kind, row.target_id, row.state, row.posted_id) for row in rows] == [
            ("review_comment", thread.comments[0].id, OutboxState.POSTED, thread.comments[-1].id)
        ]


async def test_failures_builtins_and_refusals_too(tmp_path: Path) -> None:
    """Whatever a request at a line leads to is said at that line."""
    async with on_a_pull(tmp_path) as (stage, pull):
        await reviewed(stage, pull, "", remark("@bot breaks"), remark("@bot status", 1))
        failed, status = pull.review_threads
        assert "its command ended with exit code 3" in said(stage, failed)[0]
        assert reacted(stage, failed.comments[0]) == ["confused"]
        assert "nder way here" in said(stage, status)[0]
        await answered(stage, status.comments[0], "@bot unpin 7")
        assert "there is no pin 7 here" in said(stage, status)[1]
        assert stage.replies(pull.number) == []


async def test_asked_in_a_review(tmp_path: Path) -> None:
    """👀 on the review itself; the answer is a comment of the conversation that names what it is about."""
    async with on_a_pull(tmp_path) as (stage, pull):
        review = await reviewed(stage, pull, "@bot check all of it", remark("This."), remark("And this.", 1))
        (reply,) = stage.replies(pull.number)
        first, second = (thread.comments[0] for thread in pull.review_threads)
        assert "[src/size.py:2](" in reply
        assert f"#discussion_r{first.id})" in reply
        assert f"#discussion_r{second.id})" in reply
        assert reacted(stage, review) == ["rocket"]


async def test_a_reader_gets_nothing(tmp_path: Path) -> None:
    """As in the conversation."""
    async with on_a_pull(tmp_path) as (stage, pull):
        review = await reviewed(stage, pull, "@bot check", remark("@bot check"), author="sam")
        (thread,) = pull.review_threads
        assert said(stage, thread) == stage.replies(pull.number) == []
        assert reacted(stage, review) == reacted(stage, thread.comments[0]) == []


async def test_each_mention_counts_once(tmp_path: Path) -> None:
    """In the review's text and in its comment; the same words in both are one request; edits that add one count."""
    async with on_a_pull(tmp_path) as (stage, pull):
        await reviewed(stage, pull, "@bot check", remark("@bot check"), remark("@bot mend", 1))
        await reviewed(stage, pull, "Nearly.", remark("Hm."))
        comment = pull.review_threads[-1].comments[0]
        stage.world.edit_review_comment(comment.id, "ana", "Hm. @bot mend")
        await stage.settle()
        stage.world.edit_review_comment(comment.id, "ana", "Hm! @bot mend")
        await stage.settle()
        stage.world.edit_review(pull.reviews[-1], "ana", "Nearly, @bot status")
        await stage.settle()
        commands = await stage.bot.store.read(lambda session: list(session.exec(select(Dispatch.command))))
        assert sorted(commands) == ["check", "mend", "mend"]


async def until(stage: Stage, command: str) -> None:
    """Wait until something of that name was dispatched."""
    query = select(Dispatch).where(Dispatch.command == command)
    async with asyncio.timeout(20):
        while not await stage.bot.store.read(lambda session: list(session.exec(query))):
            await asyncio.sleep(0.01)


async def test_a_deleted_trigger(tmp_path: Path) -> None:
    """What has not started is cancelled; the text is gone."""
    async with on_a_pull(tmp_path) as (stage, pull):
        held = stage.world.faults.hold("GET", rf"/repos/acme/widgets/issues/{pull.number}")
        stage.world.comment(stage.repo, pull.number, "meg", "@bot triage wait")
        async with asyncio.timeout(20):
            await held.met.wait()
        stage.world.review(stage.repo, pull.number, "ana", "", remarks=[remark("@bot check this secret")])
        await until(stage, "check")
        (thread,) = pull.review_threads
        stage.world.delete_review_comment(thread.comments[0].id)
        await stage.deliverer.settle()
        release(held)
        await stage.settle()
        query = select(Dispatch).where(Dispatch.command == "check")
        (dispatch,) = await stage.bot.store.read(lambda session: list(session.exec(query)))
        assert (str(dispatch.state), dispatch.request) == ("cancelled", "")


async def test_what_the_agent_sees(tmp_path: Path) -> None:
    """Conversation, reviews and review comments by time; the thread, file and hunk that were asked about."""
    async with on_a_pull(tmp_path) as (stage, pull):
        await stage.says("meg", "Said in the conversation.", pull.number)
        await reviewed(stage, pull, "Said in a review.", remark("Why 0?", 2), remark("Said at another line.", 1))
        thread = next(one for one in pull.review_threads if one.line == 2)
        await answered(stage, thread.comments[0], "Because nothing is 0.", "meg")
        await answered(stage, thread.comments[0], "@bot triage is that so?")
        (prompt,) = await prompts(stage)
        order = [
            "Said in the conversation.",
            "Said in a review.",
            "Said at another line.",
            'file: "src/size.py"',
            "+    return int(text or 0)",
            "Why 0?",
            "Because nothing is 0.",
            "@bot triage is that so?",
        ]
        places = [prompt.index(words) for words in order]
        # of one second, a review stands before the conversation
        assert max(places[:3]) < places[3]
        assert places[3:] == sorted(places[3:])
        assert all(prompt.count(words) == 1 for words in order)
        assert f'kind=thread trust=writer source="review comment {thread.comments[0].id} by ana (write)' in prompt
        await answered(stage, thread.comments[0], "@bot why")
        why = said(stage, thread)[-1]
        assert "review comment at src/size.py:2" in why
        assert "included: the thread that was asked in" in why


@pytest.mark.parametrize("count", [0, 5, 100, 2000])
async def test_reads_do_not_grow(tmp_path: Path, count: int) -> None:
    """The newest of 2,000 review comments are there, for as many requests as those of 100, and one more."""
    async with on_a_pull(tmp_path) as (stage, pull):
        if count:
            with stage.world.silence():
                stage.world.review(stage.repo, pull.number, "ana", "", remarks=[remark("the first")])
                thread = pull.review_threads[0]
                for number in range(1, count):
                    stage.world.reply(thread.comments[0].id, "ana", f"remark number {number}.")
        stage.world.requests.clear()
        await stage.says("ana", "@bot triage look", pull.number)
        (prompt,) = await prompts(stage)
        if count > 1:
            assert all(f"remark number {number}." in prompt for number in range(max(1, count - 5), count))
        assert len(stage.reads(f"/pulls/{pull.number}/")) <= 6


async def test_changes_requested_on_its_own_pull_request(tmp_path: Path) -> None:
    """One request with all comments; of several threads the answer names them."""
    async with on_a_pull(tmp_path, "bot") as (stage, pull):
        review = await reviewed(
            stage,
            pull,
            "Please mend these.",
            remark("Use a guard."),
            remark("Rename it.", 1),
            state="CHANGES_REQUESTED",
        )
        (prompt,) = await prompts(stage)
        assert "Please mend these." in prompt
        assert prompt.index("kind=review") < prompt.index("kind=request") < prompt.index("Use a guard.")
        assert "Rename it." in prompt
        (reply,) = stage.replies(pull.number)
        for thread in pull.review_threads:
            assert f"#discussion_r{thread.comments[0].id})" in reply
            assert said(stage, thread) == []
        assert reacted(stage, review) == ["rocket"]


async def test_changes_requested_in_one_thread(tmp_path: Path) -> None:
    """Its answer is in that thread."""
    async with on_a_pull(tmp_path, "bot") as (stage, pull):
        await reviewed(stage, pull, "Please.", remark("Use a guard."), state="CHANGES_REQUESTED")
        (thread,) = pull.review_threads
        assert len(said(stage, thread)) == 1
        assert stage.replies(pull.number) == []


async def test_what_starts_nothing(tmp_path: Path) -> None:
    """Approvals, reviews that only comment, those by a reader; on somebody else's pull request nothing at all."""
    async with on_a_pull(tmp_path, "bot") as (stage, pull):
        await reviewed(stage, pull, "Fine.", state="APPROVED")
        await reviewed(stage, pull, "Hm.", remark("Why?"))
        await reviewed(stage, pull, "No.", author="sam", state="CHANGES_REQUESTED")
        assert await stage.bot.store.read(lambda session: list(session.exec(select(Dispatch)))) == []
    async with on_a_pull(tmp_path / "other") as (stage, pull):
        await reviewed(stage, pull, "No.", remark("Why?"), state="CHANGES_REQUESTED")
        assert await stage.bot.store.read(lambda session: list(session.exec(select(Dispatch)))) == []


async def test_a_reply_whose_answer_was_lost(tmp_path: Path) -> None:
    """It stands there once all the same, and our own delivery tells where."""
    async with on_a_pull(tmp_path) as (stage, pull):
        await reviewed(stage, pull, "", remark("Why 0?"))
        (thread,) = pull.review_threads
        stage.world.faults.lose_reply("POST", r"/repos/acme/widgets/pulls/\d+/comments/\d+/replies")
        await answered(stage, thread.comments[0], "@bot check")
        assert len(said(stage, thread)) == 1
        (row,) = await stage.bot.store.read(lambda s: list(s.exec(select(Outbox).where(Outbox.action == "comment"))))
        assert (row.state, row.posted_id) == (OutboxState.POSTED, thread.comments[-1].id)


async def test_pins_of_reviews(tmp_path: Path) -> None:
    """A linked review comment is always seen; the index links to it; a review's text as well."""
    async with on_a_pull(tmp_path) as (stage, pull):
        review = await reviewed(stage, pull, "Agreed in the review.", remark("Keep Python 3.9."))
        comment = pull.review_threads[0].comments[0]
        page = f"{stage.world.addresses.site}/acme/widgets/pull/{pull.number}"
        await stage.says("ana", f"@bot pin {page}#discussion_r{comment.id}", pull.number)
        await stage.says("ana", f"@bot pin {page}#pullrequestreview-{review.id}", pull.number)
        index = stage.replies(pull.number)[0]
        assert f"#discussion_r{comment.id})" in index
        assert f"#pullrequestreview-{review.id})" in index
        await stage.says("ana", "@bot triage look", pull.number)
        (prompt,) = await prompts(stage)
        assert prompt.count("Keep Python 3.9.") == prompt.count("Agreed in the review.") == 1
        assert prompt.count("kind=pin") == 4


async def test_a_question_in_a_review_thread(tmp_path: Path) -> None:
    """What a run asks stands where it was asked for; a box ticked there is an answer, and the question says so."""
    steps = "[{id: ok, ask: Sure?, options: {approve: end, stop: end}}]"
    async with on_a_pull(tmp_path, text=BOT_YML + f"  ship: {{steps: {steps}}}\n") as (stage, pull):
        await reviewed(stage, pull, "", remark("@bot ship"))
        (thread,) = pull.review_threads
        (asked,) = (one for one in thread.comments if one.author is stage.app.bot)
        assert "**Sure?**" in asked.body
        ticked = asked.body.replace("- [ ] approve", "- [x] approve")
        stage.world.edit_review_comment(asked.id, "meg", ticked)
        await stage.settle()
        assert "Answered by `meg`" in asked.body
        assert stage.replies(pull.number) == []
        assert "rocket" in reacted(stage, thread.comments[0])


async def test_workflows_that_listen_to_reviews(tmp_path: Path) -> None:
    """On its own pull request: once, for changes requested, and for nothing else. A mention is no second request."""
    steps = "[{id: a, run: echo again}]"
    text = BOT_YML + f"  again: {{on: {{review_submitted: true}}, steps: {steps}}}\n"
    async with on_a_pull(tmp_path, "bot", text) as (stage, pull):
        await reviewed(stage, pull, "Fine.", state="APPROVED")
        await reviewed(stage, pull, "Please.", remark("Use a guard."), state="CHANGES_REQUESTED")
        await reviewed(stage, pull, "@bot check", remark("Here."), state="CHANGES_REQUESTED")
        commands = await stage.bot.store.read(lambda session: list(session.exec(select(Dispatch.command))))
        assert commands == ["again", "check"]

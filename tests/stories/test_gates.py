"""Gates answered in the thread: boxes ticked, commands, and everything that does not count."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.demo.records import Comment
from bot.publish.marker import strip
from tests.stage import Stage, open_stage

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
        assert "The tick by `ana` does not count: `r1.approve`: the role `maintain` is needed" in asked
        assert strip(question(stage).body) == asked

"""What the agent got is exactly what was promised: the newest N, every pin, the exec input, and none of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlmodel import col, select

from bot.model.context import Manifest
from bot.store import Session, snapshots
from bot.store.tables import Attempt
from tests.stage import Stage, open_stage
from tests.stories.conftest import BOT_YML as ROSTER

BOT_YML = """\
version: 1
history_comment_count: 5
agents:
  helper:
    model: demo:helper
    prompt: You help with issues.
workflows:
  look:
    steps:
      - id: look
        agent: helper
        prompt: Look at it.
        inputs:
          listing: {exec: "echo computed-just-now; ls", required: true}
"""


def newest(session: Session) -> tuple[str, Manifest]:
    """Prompt and manifest of the newest attempt that asked a model."""
    attempt = session.exec(
        select(Attempt).where(col(Attempt.prompt_blob).is_not(None)).order_by(col(Attempt.id).desc())
    ).first()
    assert attempt is not None
    assert attempt.prompt_blob is not None
    return snapshots.get_blob(session, attempt.prompt_blob).decode(), Manifest.model_validate(attempt.manifest)


async def test_the_newest_five_an_old_pin_and_the_input_and_none_of_the_others(tmp_path: Path) -> None:
    """A thread of 250 comments: five newest verbatim, one old pin, the exec input; three thread reads at most."""
    async with open_stage(tmp_path, {".github/bot.yml": BOT_YML, "a.txt": "a"}) as stage:
        with stage.world.silence():
            made = [stage.world.comment(stage.repo, 1, "sam", f"comment number {n:03}.") for n in range(250)]
        await stage.says("meg", f"@bot pin {link(stage, made[17].id)}")
        before = len(stage.world.requests)
        await stage.says("ana", "@bot look please")
        prompt, manifest = await stage.bot.store.read(newest)
        for n in range(250):
            assert (f"comment number {n:03}." in prompt) == (n == 17 or n >= 245), n
        assert "computed-just-now" in prompt
        assert "a.txt" in prompt
        assert "@bot look please" in prompt
        assert (manifest.comments_seen, manifest.pins_seen, len(manifest.inputs)) == (5, 1, 1)
        reads = [s.path for s in stage.world.requests[before:] if s.method == "GET" and "/issues/1" in s.path]
        assert len(reads) <= 3, reads
        answer = stage.replies()[-1]
        assert "saw 5 comments, 1 pin, 1 input" in answer


async def reads(tmp_path: Path, count: int) -> int:
    """How many reads of the thread one dispatch makes, with so many comments in it."""
    async with open_stage(tmp_path / str(count), {".github/bot.yml": BOT_YML}) as stage:
        with stage.world.silence():
            for n in range(count):
                stage.world.comment(stage.repo, 1, "sam", f"comment {n}")
        before = len(stage.world.requests)
        await stage.says("ana", "@bot look")
        assert len(stage.replies()) == 1
        return sum(s.method == "GET" and "/issues/1" in s.path for s in stage.world.requests[before:])


async def test_reading_costs_the_same_for_ten_and_for_ten_thousand_comments(tmp_path: Path) -> None:
    """Equal, and at most three."""
    few, many = await reads(tmp_path, 10), await reads(tmp_path, 10_000)
    assert few == many <= 3


async def test_what_was_said_after_the_mention_is_not_seen(stage: Stage) -> None:
    """The anchor is the mention, even if the run starts late."""
    await stage.says("sam", "said before")
    stage.world.comment(stage.repo, 1, "ana", "@bot helper look")
    stage.world.comment(stage.repo, 1, "sam", "said after")
    await stage.settle()
    prompt, _ = await stage.bot.store.read(newest)
    assert "said before" in prompt
    assert "said after" not in prompt


async def test_the_bots_own_machinery_is_not_seen_its_answers_are(stage: Stage) -> None:
    """Help, command output and built-in commands do not take a place in the window; an agent's answer does."""
    await stage.says("ana", "@bot help")
    await stage.says("ana", "@bot two")
    await stage.says("ana", "@bot helper first question")
    await stage.says("ana", "@bot helper second question")
    prompt, manifest = await stage.bot.store.read(newest)
    assert "What you can ask me here" not in prompt
    assert "second after first" not in prompt
    assert "You asked: `@bot helper first question`" in prompt
    fates = {record.fate for record in manifest.comments}
    assert {"included", "request", "command"} <= fates


async def test_a_deleted_and_an_edited_comment(stage: Stage) -> None:
    """Deleted: left out. Edited after the mention: as it stood when the delivery arrived."""
    gone = await stage.says("sam", "to be deleted")
    kept = await stage.says("sam", "as it was")
    stage.world.delete_comment(gone.id, "meg")
    await stage.settle()
    await stage.says("ana", "@bot helper look")
    prompt, _ = await stage.bot.store.read(newest)
    assert "to be deleted" not in prompt
    assert "as it was" in prompt
    stage.world.edit_comment(kept.id, "sam", "as it is now")
    await stage.settle()
    await stage.says("ana", "@bot helper again")
    prompt, _ = await stage.bot.store.read(newest)
    assert "as it is now" in prompt


def link(stage: Stage, comment_id: int) -> str:
    return f"{stage.world.site_url}/acme/widgets/issues/1#issuecomment-{comment_id}"


@pytest.mark.parametrize("native", [True, False])
async def test_both_sorts_of_pin_are_seen_from_far(stage: Stage, native: bool) -> None:
    """GitHub's own and the bot's."""
    old = await stage.says("sam", "keep this in mind")
    if native:
        stage.world.pin_comment(old.id, "meg")
        await stage.settle()
    else:
        await stage.says("meg", f"@bot pin {link(stage, old.id)}")
    for n in range(7):
        await stage.says("sam", f"chatter {n}")
    await stage.says("ana", "@bot helper look")
    prompt, manifest = await stage.bot.store.read(newest)
    assert "keep this in mind" in prompt
    assert manifest.pins_seen == 1
    assert "chatter 1" not in prompt


async def test_a_transferred_issue_is_read_in_its_new_place(stage: Stage) -> None:
    """Words and GitHub's pin moved with it; the bot's pins and answers are those of the thread that it was."""
    old = await stage.says("sam", "said in the old place")
    kept = await stage.says("sam", "keep this in mind")
    stage.world.pin_comment(kept.id, "meg")
    await stage.says("meg", f"@bot pin {link(stage, old.id)}")
    await stage.says("ana", "@bot helper what is it?")
    other = stage.world.add_repository("acme", "gadgets", {".github/bot.yml": ROSTER})
    for repo in (stage.repo, other):
        stage.world.set_role(repo, "meg", "write")
    moved = stage.world.transfer_issue(stage.repo, 1, "meg", other)
    stage.world.comment(other, moved.number, "meg", "@bot helper and now?")
    await stage.settle()
    prompt, manifest = await stage.bot.store.read(newest)
    assert 'repository: "acme/gadgets"' in prompt
    assert "keep this in mind" in prompt
    assert "said in the old place" in prompt
    assert "@bot helper what is it?" in prompt
    assert manifest.pins_seen == 1
    fates = {(record.author, record.fate) for record in manifest.comments}
    assert {fate for author, fate in fates if author == "bot[bot]"} == {"own other"}

"""What the bot's own records say about a thread, on a stage with a bot."""

from __future__ import annotations

from bot.demo import repository
from bot.demo.known import Gate, Known, known
from bot.demo.stage import Stage, open_stage
from bot.model.state import GateState

ASKS = """\
  ask:
    steps:
      - {id: approve, ask: Build this?, options: {yes: end, no: end}}
"""


async def told(stage: Stage) -> Known:
    """What is known when the bot is at rest."""
    await stage.rest()
    return await stage.bot.store.read(lambda session: known(session, stage.issue))


async def test_pins_and_questions() -> None:
    """By the comments that they are in; a pin of GitHub's own is none of the bot's."""
    async with open_stage() as stage:
        assert await told(stage) == Known()
        world, repo = stage.world, stage.issue.repository
        first, second, *_ = stage.issue.comments
        world.write_file(repo, ".github/bot.yml", repository.BOT_YML + ASKS, "meg")
        world.pin_comment(second.id, "meg")
        world.comment(repo, 1, "meg", f"@bot pin {stage.url}#issuecomment-{first.id}")
        found = await told(stage)
        assert (found.pins, found.gates) == ({first.id: "meg"}, {})
        assert "stop" not in found.offers
        world.comment(repo, 1, "ana", "@bot ask")
        waits = await told(stage)
        (asked,) = waits.gates
        assert "Build this?" in stage.issue.comments[-1].body
        assert waits.gates == {stage.issue.comments[-1].id: Gate(GateState.OPEN)}
        # people's words with our marker in them are no question of ours
        copy = world.comment(repo, 1, "sam", world.find_comment(asked).body)
        assert copy.id not in (await told(stage)).gates
        world.comment(repo, 1, "ana", "@bot cancel")
        over = await told(stage)
        assert over.gates == {asked: Gate(GateState.CANCELLED)}
        assert over.gates[asked].told == "need not be answered"

"""Plays the conversation on a stage and checks that exactly what was expected was said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus

from bot.demo.acts import Act, Line, conversation
from bot.demo.checklist import with_tick
from bot.demo.deliveries import Delivery
from bot.demo.markdown import boxes
from bot.demo.page.view import CONFIGURATION
from bot.demo.records import Comment
from bot.demo.repository import BOT_YML, COMMENTS
from bot.demo.screen import Screen
from bot.demo.stage import Stage, shown
from bot.store import deliveries

#: seconds that the bot has for one line before it counts as silent
PATIENCE = 30.0


class Story:
    """One performance. What went wrong is collected and told at the end, so that one fault does not hide others."""

    def __init__(self, stage: Stage, screen: Screen, *, patience: float = PATIENCE) -> None:
        self._stage = stage
        self._screen = screen
        self._patience = patience
        self._faults: list[str] = []
        #: the comments that must be there in the end, people's and the bot's
        self._expected: list[Comment] = list(stage.issue.comments)
        self._configuration = BOT_YML
        self._stuck = False

    async def play(self) -> list[str]:
        """Play every act; what is missing or too much, in a sentence each."""
        stage = self._stage
        first = stage.issue.comments[0]
        acts = conversation(f"{stage.url}#issuecomment-{first.id}")
        for number, act in enumerate(acts, 1):
            self._screen.act(number, len(acts), act.title)
            await self._act(act)
            if self._stuck:
                break
        self._check_thread()
        return self._faults

    async def _act(self, act: Act) -> None:
        for line in act.lines:
            before, sent = set(self._stage.said()), len(self._stage.world.deliveries)
            asked = self._asked(line)
            written = self._do(line)
            if line.ticks and not self._tick(line, asked):
                self._fault(act, f"there is no box {line.ticks!r} for {line.who} to tick")
            await self._bots_turn(act, line)
            fresh = [comment for comment in self._stage.said() if comment not in before]
            for comment in fresh:
                self._screen.answers(shown(comment), self._reactions(written))
            if written is not None and not fresh:
                self._screen.nothing(await self._reason(self._stage.world.deliveries[sent]))
            self._check(act, line, fresh, written)
            if asked is not None and (lost := _missing(shown(asked), line.settled)) is not None:
                self._fault(act, f"the question lacks {lost!r} after {line.who}'s answer: {_short(asked)}")
            for made in self._stage.world.deliveries[sent:]:
                if made.attempts and made.attempts[-1].status_code >= HTTPStatus.MULTIPLE_CHOICES:
                    self._fault(act, f"the bot did not take the webhook {made.event}: {made.attempts[-1].status}")
            if self._stuck:
                return

    def _do(self, line: Line) -> Comment | None:
        """What the person does; the comment, if one was written."""
        stage, repo = self._stage, self._stage.issue.repository
        role = str(stage.world.role(repo, line.who))
        if line.commits is not None:
            self._screen.commits(line.who, role, line.commits.message, self._configuration, line.commits.text)
            stage.world.write_file(repo, CONFIGURATION, line.commits.text, line.who, line.commits.message)
            self._configuration = line.commits.text
        if not line.says:
            return None
        self._screen.says(line.who, role, line.says)
        written = stage.world.comment(repo, stage.issue.number, line.who, line.says)
        self._expected.append(written)
        return written

    def _asked(self, line: Line) -> Comment | None:
        """The bot's newest question, where the line is about one."""
        if not (line.ticks or line.settled):
            return None
        return next((row for row in reversed(self._stage.said()) if boxes(row.body)), None)

    def _tick(self, line: Line, asked: Comment | None) -> bool:
        """What the person ticks; whether it is there."""
        found = next((box for box in boxes(asked.body) if box.says.startswith(line.ticks)), None) if asked else None
        if asked is None or found is None:
            return False
        self._screen.ticks(line.who, str(self._stage.world.role(self._stage.issue.repository, line.who)), found.says)
        self._stage.world.edit_comment(asked.id, line.who, with_tick(asked.body, found, True))
        return True

    async def _bots_turn(self, act: Act, line: Line) -> None:
        """Wait until the bot has nothing left to do, or for as long as patience lasts."""
        with self._screen.waiting("the bot is at work" if line.answer else "the bot looks at it"):
            try:
                async with asyncio.timeout(self._patience):
                    await self._stage.rest()
            except TimeoutError:
                self._stuck = True
                self._fault(act, f"the bot was not done {self._patience:g} s after {line.who}'s turn")

    def _check(self, act: Act, line: Line, fresh: Sequence[Comment], written: Comment | None) -> None:
        if not line.answer:
            for comment in fresh:
                self._fault(act, f"the bot should have been silent, and said: {_short(comment)}")
        elif not fresh:
            self._fault(act, f"the bot's comment is missing; expected one with: {' … '.join(line.answer)}")
        else:
            self._expected.append(fresh[0])
            if (lost := _missing(shown(fresh[0]), line.answer)) is not None:
                self._fault(act, f"the bot's comment lacks {lost!r}: {_short(fresh[0])}")
            for comment in fresh[1:]:
                self._fault(act, f"the bot said more than one thing: {_short(comment)}")
        if written is not None and (seen := self._reactions(written)) != sorted(line.reactions):
            expected = ", ".join(sorted(line.reactions)) or "none"
            self._fault(act, f"the bot's reactions to {line.who} are {', '.join(seen) or 'none'}, expected {expected}")

    def _check_thread(self) -> None:
        """Nothing else: every comment in its place, none more, none touched that nobody asked about."""
        there = self._stage.issue.comments
        if there != self._expected:
            self._faults.append(f"the thread holds {len(there)} comments, {len(self._expected)} were expected")
        for comment in there[: len(COMMENTS)]:
            if seen := self._reactions(comment):
                self._faults.append(f"the bot reacted to an old comment of {comment.author.login}: {', '.join(seen)}")

    def _reactions(self, comment: Comment | None) -> list[str]:
        if comment is None:
            return []
        return sorted(row.content for row in comment.reactions if row.user is self._stage.app.bot)

    async def _reason(self, made: Delivery) -> str:
        """Why the bot did nothing about a delivery, from its own records."""
        found = await self._stage.bot.store.read(lambda session: deliveries.find(session, made.guid))
        return found.reason if found is not None else "the webhook did not reach it"

    def _fault(self, act: Act, words: str) -> None:
        self._faults.append(f"{act.title}: {words}")


def _missing(text: str, parts: Sequence[str]) -> str | None:
    """The first part that does not stand in the text behind those before it."""
    position = 0
    for part in parts:
        found = text.find(part, position)
        if found < 0:
            return part
        position = found + len(part)
    return None


def _short(comment: Comment) -> str:
    return " ".join(shown(comment).split())[:300]

"""What people do in an episode about what they see: tick gates, retry what failed, call off what takes long."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.demo.records import Comment, Issue
from tests.faults.people import MOST, People
from tests.faults.wishes import Subject, Wish


@dataclass
class Errands(People):
    """What was begun and has to be gone on with."""

    #: slow runs that are to be cancelled once their request is taken
    slow: list[Wish] = field(default_factory=list)
    #: threads with a run that waits for a label, and the word of its result
    waiting: dict[int, str] = field(default_factory=dict)
    #: words of runs that wait for the checks of the pull request
    checking: list[str] = field(default_factory=list)
    #: until how many words were said sam may ask for something; 0 while he may not
    _sam_until: int = 0
    #: he asked when he might not, which may be looked at much later
    _sam_asked: bool = False
    #: threads with a run that is to be told something
    _to_tell: list[int] = field(default_factory=list)
    #: remarks that are to be deleted, each once so many words were said
    _doomed: list[tuple[int, int]] = field(default_factory=list)
    #: failures that people have seen
    _seen: set[int] = field(default_factory=set)

    @property
    def rests(self) -> bool:
        """Whether nobody is about to do anything more."""
        return not (self.slow or self.waiting or self.checking or self._to_tell)

    def give_up(self) -> None:
        """No run is open any more: what was to be said after a label or a check is not, as its run was set aside."""
        self.waiting.clear()
        self.checking.clear()

    def follow_up(self, taken: Callable[[Subject], bool]) -> None:
        """Whatever is due by now; `taken` tells whether the delivery of something was acknowledged."""
        for wish in list(self.slow):
            if wish.subject is not None and taken(wish.subject):
                self.slow.remove(wish)
                if self.rng.random() < 0.5:
                    made = self._write(wish.number, f"@bot steer Leave it, says {self._token()}")
                    self._wish("steer", wish.number, made, dispatches=0, answers=1)
                made = self._write(wish.number, "@bot cancel", "meg")
                self._wish("cancel", wish.number, made, dispatches=0, answers=1)
        for number in self._to_tell:
            self._write(number, "@bot steer Leave the parser alone")
        self._to_tell.clear()
        for due, remark in list(self._doomed):
            if self._count >= due:
                self._doomed.remove((due, remark))
                self.place.world.delete_review_comment(remark, "ana")
        if self._sam_until and self._count > self._sam_until:
            self._sam_until = 0
            self.place.world.set_role(self.place.repo, "sam", "read")
        for token in list(self.checking):
            if self._stands(token, self.place.pull.issue):
                self.checking.remove(token)
            elif self.rng.random() < 0.1:
                self.place.world.add_check(self.place.repo, self.place.pull.head_sha, f"ci {token}")
        for number, token in list(self.waiting.items()):
            issue = self.place.repo.issues[number]
            if self._stands(token, issue):
                del self.waiting[number]
            elif self.rng.random() < 0.2:
                names = [label.name for label in issue.labels]
                self.place.world.set_labels(self.place.repo, number, "meg", [] if "go" in names else ["go"])
        for issue in list(self.place.repo.issues.values()):
            for comment in list(issue.comments):
                if comment.author is self.place.app.bot:
                    self._answer(issue.number, comment)

    def _stands(self, token: str, issue: Issue) -> bool:
        """Whether the bot has said a word."""
        return any(token in one.body for one in issue.comments if one.author is self.place.app.bot)

    def _answer(self, number: int, comment: Comment) -> None:
        world = self.place.world
        if "Asked by" in comment.body and "- [ ] approve" in comment.body:
            # as the page does it: the text as it stands, with an x in the box
            world.edit_comment(comment.id, "meg", comment.body.replace("- [ ] approve", "- [x] approve"))
        elif "`broken` failed" in comment.body or "it did not work" in comment.body:
            run = re.search(r"\br\d+\b", comment.body.rpartition("<sub>")[2])
            if comment.id not in self._seen and run is not None:
                self._seen.add(comment.id)
                if self.rng.random() < 0.5 and self._commands[number] < MOST:
                    self._commands[number] += 1
                    made = self._write(number, f"@bot retry {run[0]}")
                    self._wish("retry", number, made, ends=frozenset({"failed"}))

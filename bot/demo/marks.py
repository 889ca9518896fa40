"""Reactions and labels: what people and Apps put on things."""

from __future__ import annotations

from bot.demo.people import People
from bot.demo.records import CONTENTS, Comment, Content, Issue, Label, Reaction, Review, ReviewComment
from bot.demo.refusal import invalid, not_found
from bot.demo.state import RepositoryLike, UserLike

#: what can be reacted to
Reacted = Issue | Comment | Review | ReviewComment


def thread_of(row: Reacted) -> Issue:
    """The thread that something reacted to is in."""
    match row:
        case Comment():
            return row.issue
        case Review():
            return row.pull.issue
        case ReviewComment():
            return row.thread.pull.issue
        case _:
            return row


class Marks(People):
    """Actions with reactions, and the labels that a repository has. GitHub sends no webhook for reactions."""

    def react(self, row: Reacted, who: UserLike, content: Content) -> tuple[Reaction, bool]:
        """A reaction, and whether it is new: the same one twice stays one. GitHub sends no webhook for this."""
        if content not in CONTENTS:
            raise invalid("Reaction", "content", f"{content} is not a reaction", "invalid")
        actor = self.user(who)
        for known in row.reactions:
            if known.user is actor and known.content == content:
                return known, False
        made = Reaction(self.next_id("reaction"), actor, content, self.now())
        row.reactions.append(made)
        self._reacted(row)
        return made, True

    def unreact(self, row: Reacted, reaction_id: int) -> None:
        """Take a reaction away. Raises 404."""
        kept = [known for known in row.reactions if known.id != reaction_id]
        if len(kept) == len(row.reactions):
            raise not_found()
        row.reactions[:] = kept
        self._reacted(row)

    def _reacted(self, row: Reacted) -> None:
        thread = thread_of(row)
        self.changed("reaction", thread.repository, thread.number, row.id if isinstance(row, Comment) else None)

    def label(self, repo: RepositoryLike, name: str) -> Label:
        """A repository's label, made if it is new."""
        found = self.repository(repo)
        return found.labels.setdefault(name.lower(), Label(self.next_id("label"), name))

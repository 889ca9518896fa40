"""Reviews of pull requests: what people and Apps say about lines of a diff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.demo.comparison import files, hunk_to
from bot.demo.pulls import Pulls
from bot.demo.records import App, Pull, Review, ReviewComment, ReviewState, ReviewThread, Side
from bot.demo.refusal import Refused, invalid, not_found
from bot.demo.shapes import pull as pull_shape
from bot.demo.shapes import review as shape
from bot.demo.state import RepositoryLike, UserLike
from bot.demo.threads import check_length
from bot.model.role import Role


@dataclass(frozen=True, slots=True)
class Remark:
    """One comment of a review that is to be made. Without `line` it is about the whole file."""

    path: str
    body: str
    line: int | None = None
    side: Side = "RIGHT"
    start_line: int | None = None
    start_side: Side | None = None


class Reviews(Pulls):
    """Actions of reviewers. Where an App acts with its own token, `app` is given: its permissions were checked."""

    def review(
        self,
        repo: RepositoryLike,
        number: int,
        author: UserLike,
        body: str = "",
        *,
        state: ReviewState = "COMMENTED",
        remarks: Sequence[Remark] = (),
        commit: str | None = None,
        app: App | None = None,
    ) -> Review:
        """A submitted review with its comments, each of which begins a thread.

        Raises 422 where a place is not in the diff, one's own pull request is judged, or nothing is said.
        Source: https://docs.github.com/en/rest/pulls/reviews#create-a-review-for-a-pull-request
        """
        row, who = self.pull(repo, number), self.user(author)
        self._may_say(row.issue, who, app)
        if state in {"APPROVED", "CHANGES_REQUESTED"} and who is row.issue.author:
            verb = "approve" if state == "APPROVED" else "request changes on"
            raise Refused(422, "Unprocessable Entity", [f"Can not {verb} your own pull request"])
        if not body.strip() and (state == "CHANGES_REQUESTED" or (state == "COMMENTED" and not remarks)):
            raise Refused(422, "Unprocessable Entity", ["Body can't be blank"])
        check_length("PullRequestReview", body)
        at = commit or row.head_sha
        hunks = [self._hunk(row, at, remark) for remark in remarks]
        now = self.now()
        made = Review(self.next_id("review"), row, who, body, state, at, now, app, after=self.newest_comment)
        row.reviews.append(made)
        row.issue.updated_at = now
        for remark, hunk in zip(remarks, hunks, strict=True):
            thread = ReviewThread(
                self.next_id("review"), row, remark.path, remark.line, remark.side, remark.start_line, remark.start_side
            )
            row.review_threads.append(thread)
            self._say(thread, made, remark.body, hunk)
        self._reviewed("submitted", made, made.author)
        for thread in row.review_threads:
            for comment in thread.comments:
                if comment.review is made:
                    self._comment_made(comment)
        return made

    def reply(self, comment_id: int, author: UserLike, body: str, *, app: App | None = None) -> ReviewComment:
        """A further message in a review thread. Raises 404."""
        first, who = self.review_comment(comment_id), self.user(author)
        row = first.thread.pull
        self._may_say(row.issue, who, app)
        if not body.strip():
            raise invalid("PullRequestReviewComment", "body", "body can't be blank", "missing_field")
        now = self.now()
        place = self.newest_comment
        review = Review(self.next_id("review"), row, who, "", "COMMENTED", row.head_sha, now, app, after=place)
        row.reviews.append(review)
        made = self._say(first.thread, review, body, first.hunk)
        # GitHub makes a review of every reply, and tells of it
        self._reviewed("submitted", review, who)
        self._comment_made(made)
        return made

    def edit_review(self, review: Review, editor: UserLike, body: str) -> Review:
        """Change a review's own text, or empty it (its author or a writer may)."""
        row, who = review.pull, self.user(editor)
        self._may_edit(row.repository, review.author, who)
        check_length("PullRequestReview", body)
        if body != review.body:
            changes = {"body": {"from": review.body}}
            review.body = body
            self._reviewed("edited", review, who, changes=changes)
        return review

    def dismiss(self, review: Review, who: UserLike) -> Review:
        """Let a verdict count no longer. Raises 422 for a review without one.

        Source: https://docs.github.com/en/rest/pulls/reviews#dismiss-a-review-for-a-pull-request
        """
        actor = self.user(who)
        self.require(review.pull.repository, actor, Role.WRITE)
        if review.state not in {"APPROVED", "CHANGES_REQUESTED"}:
            raise Refused(422, "Unprocessable Entity", ["Can not dismiss a commented pull request review"])
        review.state = "DISMISSED"
        self._reviewed("dismissed", review, actor)
        return review

    def edit_review_comment(self, comment_id: int, editor: UserLike, body: str) -> ReviewComment:
        """Change a review comment's text (its author or a writer may)."""
        row, who = self.review_comment(comment_id), self.user(editor)
        self._may_edit(row.thread.pull.repository, row.author, who)
        check_length("PullRequestReviewComment", body)
        if body != row.body:
            changes = {"body": {"from": row.body}}
            row.body, row.updated_at, row.edited_by = body, self.now(), who
            self._said("edited", row, who, changes=changes)
        return row

    def delete_review_comment(self, comment_id: int, who: UserLike | None = None) -> None:
        """Take a review comment away (its author or a writer may; nobody named: its author)."""
        row = self.review_comment(comment_id)
        actor = row.author if who is None else self.user(who)
        thread = row.thread
        self._may_edit(thread.pull.repository, row.author, actor)
        told = shape.comment(self.addresses, row)
        thread.comments.remove(row)
        if not thread.comments:
            thread.pull.review_threads.remove(thread)
        self._review_event("pull_request_review_comment", "deleted", thread.pull, actor, comment=told)

    def resolve(self, thread: ReviewThread, who: UserLike, *, resolved: bool = True) -> None:
        """Call a thread settled, or take that back. The author of the pull request or a writer may."""
        actor, row = self.user(who), thread.pull
        self._may_edit(row.repository, row.issue.author, actor)
        thread.resolved_by = actor if resolved else None
        told = {"node_id": str(thread.id), "comments": [shape.comment(self.addresses, c) for c in thread.comments]}
        action = "resolved" if resolved else "unresolved"
        self._review_event("pull_request_review_thread", action, row, actor, thread=told)

    def review_comment(self, comment_id: int) -> ReviewComment:
        """A comment of a review thread by number. Raises 404."""
        for repo in self.repositories.values():
            for row in self.pulls(repo):
                for thread in row.review_threads:
                    for comment in thread.comments:
                        if comment.id == comment_id:
                            return comment
        raise not_found()

    def _say(self, thread: ReviewThread, review: Review, body: str, hunk: str) -> ReviewComment:
        check_length("PullRequestReviewComment", body)
        now = self.now()
        number = self.next_id("comment")
        made = ReviewComment(number, thread, review, review.author, body, review.commit_id, hunk, now, now, review.app)
        thread.comments.append(made)
        return made

    def _hunk(self, row: Pull, commit: str, remark: Remark) -> str:
        """The hunk that a remark stands under. Raises 422 for a place that the diff does not show."""
        touched = {file.change.path: file for file in files(row.repository.git, row.base_sha, commit)}
        file = touched.get(remark.path)
        if file is None:
            raise Refused(422, "Unprocessable Entity", ["Path could not be resolved"])
        if remark.line is None:
            return ""
        hunk = hunk_to(file.patch, remark.line, remark.side)
        start = remark.start_line
        if start is not None and (hunk is None or not hunk_to(hunk, start, remark.start_side or remark.side)):
            raise Refused(422, "Unprocessable Entity", ["Start line must be part of the same hunk as the line."])
        if hunk is None:
            raise Refused(422, "Unprocessable Entity", ["Line could not be resolved"])
        return hunk

    def _follow(self, row: Pull) -> None:
        """Threads whose line the new diff does not show as it was are outdated from now on."""
        super()._follow(row)
        lines = [thread for thread in row.review_threads if thread.line is not None and thread.comments]
        if not lines:
            return
        patches = {file.change.path: file.patch for file in files(row.repository.git, row.base_sha, row.head_sha)}
        for thread in lines:
            assert thread.line is not None
            now = hunk_to(patches.get(thread.path, ""), thread.line, thread.side)
            thread.outdated = now is None or now.split("\n")[-1] != thread.comments[0].hunk.split("\n")[-1]

    def _comment_made(self, made: ReviewComment) -> None:
        self._said("created", made, made.author)

    def _said(self, action: str, row: ReviewComment, sender: UserLike, **fields: Any) -> None:
        told = shape.comment(self.addresses, row)
        self._review_event("pull_request_review_comment", action, row.thread.pull, sender, comment=told, **fields)

    def _reviewed(self, action: str, row: Review, sender: UserLike, **fields: Any) -> None:
        told = shape.webhook_review(self.addresses, row)
        self._review_event("pull_request_review", action, row.pull, sender, review=told, **fields)

    def _review_event(self, event: str, action: str, row: Pull, sender: UserLike, **fields: Any) -> None:
        if self.listening(event, row.repository):
            told = pull_shape.simple_pull(self.addresses, row)
            self.emit(event, action, row.repository, self.user(sender), pull_request=told, **fields)
        self.changed("issue", row.repository, row.number)

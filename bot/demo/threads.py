"""Issues and comments: what people and Apps do in a thread."""

from __future__ import annotations

from typing import Any

from bot.demo.marks import Marks
from bot.demo.records import (
    MAX_BODY,
    App,
    Comment,
    Issue,
    Repository,
    User,
)
from bot.demo.refusal import Refused, invalid, not_found
from bot.demo.shapes import thread as shape
from bot.demo.state import RepositoryLike, UserLike
from bot.model.role import Role


class Threads(Marks):
    """Actions in threads. `app` is given where an App acts with its own token: then its permissions were checked."""

    def issue(self, repo: RepositoryLike, number: int) -> Issue:
        """An issue by number. Raises 404, or 410 for a deleted one or where issues are off."""
        found = self.repository(repo)
        if not found.has_issues:
            raise Refused(410, "Issues has been disabled in this repository.")
        if number in found.gone:
            raise Refused(410, "This issue was deleted")
        if number not in found.issues:
            raise not_found()
        return found.issues[number]

    def moved_to(self, repo: Repository, number: int) -> str:
        """The REST address of a transferred issue, by number as redirects are: names may change again."""
        now = repo.moved[number]
        return f"{self.api_url}/repositories/{now.repository.id}/issues/{now.number}"

    def comments(self, repo: RepositoryLike, number: int) -> list[Comment]:
        """All comments of a thread, oldest first."""
        return list(self.issue(repo, number).comments)

    def open_issue(
        self,
        repo: RepositoryLike,
        author: UserLike,
        title: str,
        body: str | None = None,
        *,
        labels: list[str] | None = None,
        app: App | None = None,
    ) -> Issue:
        """A new issue."""
        found, who = self.repository(repo), self.user(author)
        if not found.has_issues:
            raise Refused(410, "Issues has been disabled in this repository.")
        self.require(found, who, Role.READ)
        if not title.strip():
            raise invalid("Issue", "title", "title can't be blank", "missing_field")
        check_length("Issue", body)
        now = self.now()
        made = Issue(self.next_id("issue"), found, found.next_number, title, body, who, now, now, app)
        made.pushes_before = len(found.pushes)
        found.next_number += 1
        found.issues[made.number] = made
        # only people with triage rights may set labels; from others GitHub drops them silently
        if labels and (app or self.role(found, who).at_least(Role.TRIAGE)):
            made.labels = [self.label(found, name) for name in dict.fromkeys(labels)]
        self._issue_event("opened", made, who)
        return made

    def edit_issue(
        self, repo: RepositoryLike, number: int, editor: UserLike, *, title: str | None = None, body: str | None = None
    ) -> Issue:
        """Change title or body (the author or a writer may)."""
        row, who = self.issue(repo, number), self.user(editor)
        self._may_edit(row.repository, row.author, who)
        check_length("Issue", body)
        changes: dict[str, Any] = {}
        if title is not None and title != row.title:
            changes["title"] = {"from": row.title}
            row.title = title
        if body is not None and body != row.body:
            changes["body"] = {"from": row.body}
            row.body, row.edited_by = body, who
            row.edits.append((self.now(), who))
        if changes:
            row.updated_at = self.now()
            self._issue_event("edited", row, who, changes=changes)
        return row

    def set_state(
        self, repo: RepositoryLike, number: int, who: UserLike, state: str, reason: str | None = None
    ) -> Issue:
        """Close or open again (the author or someone with triage rights may)."""
        row, actor = self.issue(repo, number), self.user(who)
        if row.author is not actor:
            self.require(row.repository, actor, Role.TRIAGE)
        if state != row.state:
            row.state, row.updated_at = state, self.now()
            closed = state == "closed"
            row.state_reason = (reason or "completed") if closed else "reopened"
            row.closed_at, row.closed_by = (row.updated_at, actor) if closed else (None, None)
            self._issue_event("closed" if closed else "reopened", row, actor)
        return row

    def lock(self, repo: RepositoryLike, number: int, who: UserLike, reason: str | None = None) -> None:
        """Only writers may comment from now on."""
        self._set_lock(repo, number, who, True, reason)

    def unlock(self, repo: RepositoryLike, number: int, who: UserLike) -> None:
        """Everybody may comment again."""
        self._set_lock(repo, number, who, False, None)

    def _set_lock(self, repo: RepositoryLike, number: int, who: UserLike, locked: bool, reason: str | None) -> None:
        row, actor = self.issue(repo, number), self.user(who)
        self.require(row.repository, actor, Role.WRITE)
        row.locked, row.lock_reason, row.updated_at = locked, reason, self.now()
        self._issue_event("locked" if locked else "unlocked", row, actor)

    def delete_issue(self, repo: RepositoryLike, number: int, who: UserLike) -> None:
        """Gone for good: its address answers 410."""
        row, actor = self.issue(repo, number), self.user(who)
        self.require(row.repository, actor, Role.ADMIN)
        self._issue_event("deleted", row, actor)
        for comment in row.comments:
            self.comments_by_id.pop(comment.id, None)
        del row.repository.issues[number]
        row.repository.gone.add(number)

    def comment(
        self, repo: RepositoryLike, number: int, author: UserLike, body: str, *, app: App | None = None
    ) -> Comment:
        """A new comment."""
        row, who = self.issue(repo, number), self.user(author)
        self._may_say(row, who, app)
        check_body(body)
        now = self.now()
        made = Comment(self.next_id("comment"), row, who, body, now, now, app)
        row.comments.append(made)
        row.updated_at = now
        self.comments_by_id[made.id] = made
        self._comment_event("created", made, who)
        return made

    def edit_comment(self, comment_id: int, editor: UserLike, body: str) -> Comment:
        """Change a comment's text (its author or a writer may). Emptying it is for people, on the page: see REST."""
        row, who = self.find_comment(comment_id), self.user(editor)
        self._may_edit(row.issue.repository, row.author, who)
        check_length("IssueComment", body)
        if body != row.body:
            changes = {"body": {"from": row.body}}
            row.body, row.updated_at, row.edited_by = body, self.now(), who
            row.edits.append((row.updated_at, who))
            self._comment_event("edited", row, who, changes=changes)
        return row

    def tick(self, comment_id: int, who: UserLike, option: str, *, ticked: bool = True) -> Comment:
        """Click the box before an option of a task list, which is an edit. Raises 404 where there is none."""
        row = self.find_comment(comment_id)
        old, new = ("[ ]", "[x]") if ticked else ("[x]", "[ ]")
        lines = row.body.split("\n")
        for index, line in enumerate(lines):
            if line.lstrip().startswith(f"- {old} {option}"):
                lines[index] = line.replace(old, new, 1)
                return self.edit_comment(comment_id, who, "\n".join(lines))
        raise not_found()

    def delete_comment(self, comment_id: int, who: UserLike | None = None) -> None:
        """Take a comment away (its author or a writer may; nobody named: its author)."""
        row = self.find_comment(comment_id)
        actor = row.author if who is None else self.user(who)
        self._may_edit(row.issue.repository, row.author, actor)
        row.issue.comments.remove(row)
        del self.comments_by_id[comment_id]
        if row.issue.pinned is row:
            row.issue.pinned = None
        self._comment_event("deleted", row, actor)

    def pin_comment(self, comment_id: int, who: UserLike) -> Comment:
        """GitHub's own pin; an issue has one, so another loses it."""
        row, actor = self.find_comment(comment_id), self.user(who)
        self.require(row.issue.repository, actor, Role.WRITE)
        before = row.issue.pinned
        if before is row:
            return row
        if before is not None:
            self._unpin(before, actor)
        row.issue.pinned, row.pinned_at, row.pinned_by = row, self.now(), actor
        self._comment_event("pinned", row, actor)
        return row

    def unpin_comment(self, comment_id: int, who: UserLike) -> None:
        """Take the pin away. Raises 404 where there is none."""
        row, actor = self.find_comment(comment_id), self.user(who)
        self.require(row.issue.repository, actor, Role.WRITE)
        if row.issue.pinned is not row:
            raise not_found()
        self._unpin(row, actor)

    def _unpin(self, row: Comment, actor: User) -> None:
        row.issue.pinned, row.pinned_at, row.pinned_by = None, None, None
        self._comment_event("unpinned", row, actor)

    def minimize(self, comment_id: int, who: UserLike, reason: str | None = "outdated") -> Comment:
        """Hide a comment, or show it again with no reason. GitHub sends no webhook for this."""
        row, actor = self.find_comment(comment_id), self.user(who)
        self.require(row.issue.repository, actor, Role.WRITE)
        row.minimized = reason
        self.changed("comment", row.issue.repository, row.issue.number, row.id)
        return row

    def set_labels(self, repo: RepositoryLike, number: int, who: UserLike, names: list[str]) -> Issue:
        """Make these the issue's labels: one event for each that comes or goes."""
        row, actor = self.issue(repo, number), self.user(who)
        self.require(row.repository, actor, Role.TRIAGE)
        wanted = [self.label(row.repository, name) for name in dict.fromkeys(names)]
        before, row.labels = row.labels, wanted
        for action, one, other in (("unlabeled", before, wanted), ("labeled", wanted, before)):
            for entry in one:
                if entry not in other:
                    row.updated_at = self.now()
                    told = shape.label(self.addresses, row.repository, entry)
                    self._issue_event(action, row, actor, label=told)
        return row

    def _may_say(self, row: Issue, who: User, app: App | None) -> None:
        """Raise 403 in a locked thread for all but its writers; for Apps too, whatever they may do."""
        self.require(row.repository, who, Role.READ)
        if row.locked and not (app is None and self.role(row.repository, who).at_least(Role.WRITE)):
            raise Refused(403, "Unable to create comment because issue is locked.")

    def _may_edit(self, repo: Repository, author: User, editor: User) -> None:
        if editor is not author:
            self.require(repo, editor, Role.WRITE)

    def _issue_event(self, action: str, row: Issue, sender: User, **fields: Any) -> None:
        if self.listening("issues", row.repository):
            told = shape.issue(self.addresses, row)
            self.emit("issues", action, row.repository, sender, issue=told, **fields)
        self.changed("issue", row.repository, row.number)

    def _comment_event(self, action: str, row: Comment, sender: User, **fields: Any) -> None:
        repo = row.issue.repository
        if self.listening("issue_comment", repo):
            issue, told = shape.issue(self.addresses, row.issue), shape.comment(self.addresses, row)
            self.emit("issue_comment", action, repo, sender, issue=issue, comment=told, **fields)
        self.changed("comment", repo, row.issue.number, row.id)


def check_body(body: str) -> None:
    """Raise 422 for a comment that says nothing, or is too long."""
    if not body.strip():
        raise invalid("IssueComment", "data", "Body cannot be blank")
    check_length("IssueComment", body)


def check_length(resource: str, body: str | None) -> None:
    """Raise 422 for a body that GitHub would not take."""
    if body is not None and len(body) > MAX_BODY:
        raise invalid(resource, "data", f"Body is too long (maximum is {MAX_BODY} characters)")

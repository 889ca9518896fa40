"""Things that go elsewhere or change under the bot's feet: transfers, archives, force-pushes."""

from __future__ import annotations

from bot.demo.people import Files
from bot.demo.pulls import Pulls
from bot.demo.records import Installation, Issue, Repository, User
from bot.demo.refusal import invalid, not_found
from bot.demo.shapes import thread as thread_shape
from bot.demo.shapes.account import user
from bot.demo.shapes.repository import brief, webhook_repository
from bot.demo.state import RepositoryLike, UserLike
from bot.model.role import Role


class Moves(Pulls):
    """What writers and owners do to issues, repositories and branches. Whoever lacks the role is refused (403)."""

    def transfer_issue(self, repo: RepositoryLike, number: int, who: UserLike, to: RepositoryLike) -> Issue:
        """Move an issue with its comments; its old number answers 301.

        The old repository hears `transferred`, the new one `opened`, each with where it came from or went.
        Source: https://docs.github.com/en/issues/tracking-your-work-with-issues/administering-issues/transferring-an-issue-to-another-repository
        """
        row, target, actor = self.issue(repo, number), self.repository(to), self.user(who)
        old = row.repository
        self.require(old, actor, Role.WRITE)
        self.require(target, actor, Role.WRITE)
        if target is old or target.owner is not old.owner or row.pull is not None:
            raise invalid("Issue", "repository", "can't be transferred", "invalid")
        before = thread_shape.issue(self.addresses, row)
        made = Issue(
            self.next_id("issue"), target, target.next_number, row.title, row.body, row.author, row.created_at,
            self.now(), row.app, row.state, row.state_reason, row.closed_at, row.closed_by, row.locked, row.lock_reason,
        )  # fmt: skip
        made.labels = [target.labels[one.name.lower()] for one in row.labels if one.name.lower() in target.labels]
        made.assignees, made.reactions, made.pushes_before = row.assignees, row.reactions, len(target.pushes)
        target.next_number += 1
        target.issues[made.number] = made
        for comment in row.comments:
            comment.issue = made
        made.comments = row.comments
        after = thread_shape.issue(self.addresses, made)
        there, here = (webhook_repository(self.addresses, one, "issues") for one in (target, old))
        gone = {"new_issue": after, "new_repository": there}
        came = {"old_issue": before, "old_repository": here}
        self.emit("issues", "transferred", old, actor, issue=before, changes=gone)
        del old.issues[number]
        old.moved[number] = made
        self.emit("issues", "opened", target, actor, issue=after, changes=came)
        self.changed("issue", old, number)
        self.changed("issue", target, made.number)
        return made

    def transfer_repository(self, repo: RepositoryLike, new_owner: UserLike, who: UserLike | None = None) -> None:
        """Another account's from now on: the old name redirects, an App is left behind unless it is installed there."""
        found, owner = self.repository(repo), self.user(new_owner)
        actor, old = self._admin(found, who), found.owner
        heard = self.listening("repository", found)
        holders = self._holders(found)
        self.former_names[found.full_name.lower()] = found.id
        found.owner = owner
        kind = "organization" if old.type == "Organization" else "user"
        changes = {"owner": {"from": {kind: user(self.addresses, old)}}}
        heard += [row for row in self.listening("repository", found) if row not in heard]
        self.emit("repository", "transferred", found, actor, to=heard, changes=changes)
        for row in holders:
            if not row.holds(found):
                self._taken(row, found, actor)

    def _holders(self, repo: Repository) -> list[Installation]:
        return [row for row in self.installations.values() if row.holds(repo)]

    def _taken(self, row: Installation, repo: Repository, sender: User) -> None:
        """The installation has lost a repository."""
        if row.repository_ids is not None:
            row.repository_ids.discard(repo.id)
        selection = "all" if row.repository_ids is None else "selected"
        self.emit_installation(
            "installation_repositories", "removed", row, sender, repository_selection=selection, requester=None,
            repositories_added=[], repositories_removed=[brief(repo)],
        )  # fmt: skip

    def archive_repository(
        self, repo: RepositoryLike, who: UserLike | None = None, *, archived: bool = True
    ) -> Repository:
        """Make it read only, or take that back."""
        found = self.repository(repo)
        actor = self._admin(found, who)
        if archived is not found.archived:
            found.archived = archived
            self.emit("repository", "archived" if archived else "unarchived", found, actor)
        return found

    def force_push(
        self, repo: RepositoryLike, branch: str, files: Files, who: UserLike, message: str, *, onto: str | None = None
    ) -> str:
        """Put one new commit of `files` on `onto` (default: the default branch) in the place of a branch's history.

        Returns its SHA. Raises 404 for a branch or a start that is not there. The branch itself may be moved without a
        commit by empty `files`.
        """
        found, actor = self.repository(repo), self.user(who)
        self.require(found, actor, Role.WRITE)
        git = found.git
        before, start = git.resolve(f"refs/heads/{branch}"), git.resolve(onto or found.default_branch)
        if before is None or start is None:
            raise not_found()
        after = start
        if files:
            # on a branch of its own, which is taken away again: the importer commits to branches only
            name = f"_force/{self.next_id('push')}"
            after = git.commit(name, files, (actor.name, self._email(actor)), message, self.now(), start=start)
            git.run("update-ref", "-d", f"refs/heads/{name}")
        git.run("update-ref", f"refs/heads/{branch}", after)
        self.pushed(found, actor, f"refs/heads/{branch}", before, after)
        return after

"""Who is assigned to a thread."""

from __future__ import annotations

from bot.demo.pulls import Pulls
from bot.demo.records import Issue
from bot.demo.shapes.account import user
from bot.demo.state import RepositoryLike, UserLike
from bot.model.role import Role

#: GitHub assigns no more people than this to one thread
MOST = 10


class Assignees(Pulls):
    """Actions on assignees, of issues and of pull requests."""

    def assign(self, repo: RepositoryLike, number: int, who: UserLike, logins: list[str]) -> Issue:
        """Assign people: one event for each that is new.

        Whoever may not be assigned (nobody of that name, or without any role here) is left out silently, and so is
        everybody beyond the tenth.
        Source: https://docs.github.com/en/rest/issues/assignees#add-assignees-to-an-issue
        """
        row, actor = self.issue(repo, number), self.user(who)
        self.require(row.repository, actor, Role.TRIAGE)
        for login in logins:
            one = self.users.get(login.lower())
            if one is None or one in row.assignees or len(row.assignees) >= MOST:
                continue
            if not self.role(row.repository, one).at_least(Role.WRITE):
                continue
            row.assignees.append(one)
            row.updated_at = self.now()
            self._issue_event("assigned", row, actor, assignee=user(self.addresses, one))
        return row

    def unassign(self, repo: RepositoryLike, number: int, who: UserLike, logins: list[str]) -> Issue:
        """Take people off again: one event for each that was assigned."""
        row, actor = self.issue(repo, number), self.user(who)
        self.require(row.repository, actor, Role.TRIAGE)
        gone = {login.lower() for login in logins}
        for one in [one for one in row.assignees if one.login.lower() in gone]:
            row.assignees.remove(one)
            row.updated_at = self.now()
            self._issue_event("unassigned", row, actor, assignee=user(self.addresses, one))
        return row

"""The whole of the look-alike's state: accounts, repositories, threads, Apps with their installations and tokens."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import timedelta

from bot.demo.access import Token
from bot.demo.assignees import Assignees
from bot.demo.checks import Checks
from bot.demo.keys import new_key, public_part
from bot.demo.moves import Moves
from bot.demo.records import App, Installation, Repository
from bot.demo.refusal import Refused
from bot.demo.shapes.repository import brief
from bot.demo.state import RepositoryLike, UserLike

#: how long an installation token works
TOKEN_LIFE = timedelta(hours=1)
#: what the bot asks for, as in its manifest
PERMISSIONS = {
    "metadata": "read",
    "contents": "read",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "actions": "read",
}
EVENTS = (
    "issues", "issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment",
    "check_run", "check_suite", "push", "repository",
)  # fmt: skip
_RANK = {"read": 1, "write": 2, "admin": 3}


class World(Assignees, Checks, Moves):
    """A small GitHub in memory, with real git repositories on disk."""

    def add_app(
        self,
        slug: str,
        owner: UserLike,
        *,
        name: str = "",
        permissions: Mapping[str, str] = PERMISSIONS,
        events: Iterable[str] = EVENTS,
        webhook_secret: str = "",
        private_key: str | None = None,
    ) -> App:
        """Register an App; `private_key` (PEM) is made if none is given, the secret too."""
        key, number = private_key or new_key(), self.next_id("app")
        bot = self.add_user(f"{slug}[bot]", type="Bot", name=name or slug)
        secret = webhook_secret or secrets.token_hex(20)
        made = App(
            number, slug, name or slug, self.user(owner), bot, f"Iv23li{number:014d}", key, public_part(key),
            {"metadata": "read", **permissions}, list(events), secret, self.now(),
        )  # fmt: skip
        self.apps[number] = made
        return made

    def install(
        self, app: App, account: UserLike, repositories: Iterable[RepositoryLike] | None = None
    ) -> Installation:
        """Install an App on an account, for all of its repositories or for some."""
        who, now = self.user(account), self.now()
        chosen = None if repositories is None else {self.repository(repo).id for repo in repositories}
        made = Installation(self.next_id("installation"), app, who, chosen, dict(app.permissions), now, now)
        self.installations[made.id] = made
        rows = [brief(repo) for repo in self.installed(made)]
        self.emit_installation("installation", "created", made, who, repositories=rows, requester=None)
        return made

    def uninstall(self, row: Installation) -> None:
        """Take the App away: its tokens stop working."""
        rows = [brief(repo) for repo in self.installed(row)]
        del self.installations[row.id]
        for value in [value for value, token in self.tokens.items() if token.installation is row]:
            del self.tokens[value]
        self.emit_installation("installation", "deleted", row, row.account, repositories=rows, requester=None)

    def suspend(self, row: Installation, *, suspended: bool = True) -> None:
        """The account's owner stops the App for a while, or lets it go on."""
        row.suspended_at, row.suspended_by = (self.now(), row.account) if suspended else (None, None)
        self.emit_installation("installation", "suspend" if suspended else "unsuspend", row, row.account)

    def grant(self, row: Installation, permissions: Mapping[str, str]) -> None:
        """What the installation may do from now on, `metadata` always.

        More than before is what the account's owner accepted, and told; less takes effect at once and in silence.
        Source: https://docs.github.com/en/apps/maintaining-github-apps/modifying-a-github-app-registration#changing-the-permissions-of-a-github-app
        """
        before, row.permissions = row.permissions, {"metadata": "read", **permissions}
        row.updated_at = self.now()
        if any(not covers(before, name, level) for name, level in row.permissions.items()):
            rows = [brief(repo) for repo in self.installed(row)]
            self.emit_installation(
                "installation", "new_permissions_accepted", row, row.account, repositories=rows, requester=None
            )

    def choose(self, row: Installation, repositories: Iterable[RepositoryLike]) -> None:
        """Change for which repositories the App is installed."""
        before = {repo.id: repo for repo in self.installed(row)}
        after = {repo.id: repo for repo in map(self.repository, repositories)}
        row.repository_ids, row.updated_at = set(after), self.now()
        added = [brief(repo) for number, repo in after.items() if number not in before]
        removed = [brief(repo) for number, repo in before.items() if number not in after]
        for action, rows in (("added", added), ("removed", removed)):
            if rows:
                lists = {"repositories_added": [], "repositories_removed": [], f"repositories_{action}": rows}
                self.emit_installation(
                    "installation_repositories", action, row, row.account, repository_selection="selected",
                    requester=None, **lists,
                )  # fmt: skip

    def installed(self, row: Installation) -> list[Repository]:
        """The repositories of an installation, by number."""
        return [repo for repo in self.repositories.values() if row.holds(repo)]

    def installation_of(self, app: App, repo: Repository) -> Installation | None:
        """The App's installation on a repository."""
        for row in self.installations.values():
            if row.app is app and row.holds(repo):
                return row
        return None

    def mint(
        self,
        row: Installation,
        repository_ids: Iterable[int] | None = None,
        permissions: Mapping[str, str] | None = None,
    ) -> Token:
        """An installation token, narrowed as asked. Raises 422 for more than the installation has, 403 if suspended.

        Source: https://docs.github.com/en/rest/apps/apps#create-an-installation-access-token-for-an-app
        """
        if row.suspended_at is not None:
            raise Refused(403, "This installation has been suspended")
        chosen = None if repository_ids is None else frozenset(repository_ids)
        if chosen is not None and (not chosen or chosen - {repo.id for repo in self.installed(row)}):
            words = (
                "There is at least one repository that does not exist or is not accessible to the parent installation."
            )
            raise Refused(422, words)
        wanted = dict(permissions) if permissions else dict(row.permissions)
        for name, level in wanted.items():
            if _RANK.get(level, 9) > _RANK.get(row.permissions.get(name, ""), 0):
                raise Refused(422, "The permissions requested are not granted to this installation.")
        value = f"ghs_{secrets.token_hex(18)}"
        granted = {"metadata": "read", **wanted}
        made = Token(value, self.now() + TOKEN_LIFE, row, chosen, granted)
        self.tokens[value] = made
        return made

    def user_token(self, login: UserLike) -> str:
        """A person's own token, with all that the person may do."""
        value = f"ghp_{secrets.token_hex(18)}"
        self.tokens[value] = Token(value, None, user=self.user(login))
        return value


def covers(permissions: Mapping[str, str], name: str, level: str) -> bool:
    """Whether these permissions include this level of this one."""
    return _RANK.get(permissions.get(name, ""), 0) >= _RANK[level]

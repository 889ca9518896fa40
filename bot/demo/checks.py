"""Checks of commits: what GitHub Actions or another App found, and what its jobs printed."""

from __future__ import annotations

from bot.demo.git import ZERO
from bot.demo.records import App, Check, Repository, User
from bot.demo.refusal import Refused, not_found
from bot.demo.reviews import Reviews
from bot.demo.shapes import check as shape
from bot.demo.state import RepositoryLike


class Checks(Reviews):
    """What machines say about commits."""

    _actions: App | None = None

    def add_check(
        self,
        repo: RepositoryLike,
        ref: str,
        name: str,
        conclusion: str | None = "success",
        *,
        log: str | None = None,
        title: str | None = None,
        summary: str | None = None,
        app: App | None = None,
    ) -> Check:
        """A check of the commit that `ref` names; without a conclusion it is still running.

        With a `log` it is a job of GitHub Actions, unless `app` says whose it is. An earlier check of the same name
        and App is shown no longer where only the newest are asked for.
        """
        found = self.repository(repo)
        sha = found.git.resolve(ref)
        if sha is None:
            raise Refused(422, f"No commit found for SHA: {ref}")
        now = self.now()
        done = conclusion is not None
        run = self.next_id("workflow_run") if log is not None or app is None else None
        made = Check(
            self.next_id("check"), found, name, sha, "completed" if done else "in_progress", conclusion,
            now, now if done else None, title, summary, log, run, app or self.actions(),
        )  # fmt: skip
        found.checks.append(made)
        if done:
            self._check_event(made)
        return made

    def finish(self, check: Check, conclusion: str, log: str | None = None) -> None:
        """A running check comes to its end."""
        check.status, check.conclusion, check.completed_at = "completed", conclusion, self.now()
        check.log = log if log is not None else check.log
        self._check_event(check)

    def checks(self, repo: RepositoryLike, sha: str, *, newest: bool = True) -> list[Check]:
        """The checks of a commit, newest first; of each name the newest alone unless asked otherwise."""
        rows = [row for row in reversed(self.repository(repo).checks) if row.head_sha == sha]
        if not newest:
            return rows
        return list({(row.name, row.app): row for row in reversed(rows)}.values())[::-1]

    def job(self, repo: RepositoryLike, number: int) -> Check:
        """A job of GitHub Actions; its number is that of its check. Raises 404."""
        for row in self.repository(repo).checks:
            if row.id == number and row.run_id is not None:
                return row
        raise not_found()

    def actions(self) -> App:
        """GitHub Actions, which is an App like others, but GitHub's own."""
        if self._actions is None:
            now = self.now()
            owner = User(self.next_id("user"), "github", "Organization", "GitHub", now)
            bot = User(self.next_id("user"), "github-actions[bot]", "Bot", "GitHub Actions", now)
            self._actions = App(
                self.next_id("app"), "github-actions", "GitHub Actions", owner, bot, "Iv1.0000000000000000", "", "",
                {"actions": "write", "checks": "write"}, [], ZERO, now,
            )  # fmt: skip
        return self._actions

    def _check_event(self, row: Check) -> None:
        repo: Repository = row.repository
        sender = row.app.bot if row.app else repo.owner
        if self.listening("check_run", repo):
            pulls = [pull for pull in self.pulls(repo) if pull.issue.state == "open" and pull.head_sha == row.head_sha]
            told = shape.check_run(self.addresses, row, pulls)
            self.emit("check_run", "completed", repo, sender, check_run=told)
        self.changed("check", repo)

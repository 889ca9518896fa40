"""Checks of commits: what GitHub Actions or another App found, and what its jobs printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.demo.git import ZERO
from bot.demo.records import App, Check, Pull, Repository, User
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
        self._keep(made)
        return made

    def create_check(self, repo: RepositoryLike, sha: str, name: str, app: App, said: Mapping[str, Any]) -> Check:
        """An App's own check run; `said` has what it sent. Raises 422 for a commit that is not there.

        Source: https://docs.github.com/en/rest/checks/runs#create-a-check-run
        """
        found = self.repository(repo)
        if found.git.resolve(sha) != sha:
            raise Refused(422, f"No commit found for SHA: {sha}")
        made = Check(self.next_id("check"), found, name, sha, "queued", None, self.now(), None, app=app)
        self._say_of(made, said)
        self._keep(made)
        return made

    def update_check(self, check: Check, said: Mapping[str, Any]) -> Check:
        """What an App's check run says from now on; annotations are added to those that it has."""
        before = check.status
        self._say_of(check, said)
        if check.status == "completed" and before != "completed":
            self._check_event("completed", check)
            self._suite_event(check)
        self.changed("check", check.repository)
        return check

    def _say_of(self, check: Check, said: Mapping[str, Any]) -> None:
        check.name = said.get("name", check.name)
        check.external_id = said.get("external_id", check.external_id)
        check.details_url = said.get("details_url", check.details_url)
        check.started_at = said.get("started_at", check.started_at)
        check.status, check.conclusion = said.get("status", check.status), said.get("conclusion", check.conclusion)
        if "conclusion" in said:
            check.status = "completed"
        if check.status == "completed":
            check.completed_at = said.get("completed_at") or check.completed_at or self.now()
        check.title, check.summary = said.get("title", check.title), said.get("summary", check.summary)
        check.text = said.get("text", check.text)
        check.annotations += said.get("annotations", ())

    def _keep(self, made: Check) -> None:
        found = made.repository
        known = [row.suite_id for row in found.checks if (row.head_sha, row.app) == (made.head_sha, made.app)]
        made.suite_id = known[0] if known else self.next_id("suite")
        found.checks.append(made)
        self._check_event("created", made)
        if made.status == "completed":
            self._check_event("completed", made)
            self._suite_event(made)

    def finish(self, check: Check, conclusion: str, log: str | None = None) -> None:
        """A running check comes to its end."""
        check.status, check.conclusion, check.completed_at = "completed", conclusion, self.now()
        check.log = log if log is not None else check.log
        self._check_event("completed", check)
        self._suite_event(check)

    def check(self, repo: RepositoryLike, number: int) -> Check:
        """A check run by number. Raises 404."""
        for row in self.repository(repo).checks:
            if row.id == number:
                return row
        raise not_found()

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

    def _check_event(self, action: str, row: Check) -> None:
        repo = row.repository
        if self.listening("check_run", repo):
            told = shape.check_run(self.addresses, row, self.pulls_at(repo, row.head_sha))
            self.emit("check_run", action, repo, row.app.bot if row.app else repo.owner, check_run=told)
        self.changed("check", repo)

    def _suite_event(self, row: Check) -> None:
        """`completed`, once nothing of the suite is under way.

        Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads#check_suite
        """
        repo = row.repository
        checks = [each for each in repo.checks if each.suite_id == row.suite_id]
        if any(each.status != "completed" for each in checks) or not self.listening("check_suite", repo):
            return
        newest = list({each.name: each for each in checks}.values())
        branch = next((name for name, sha in _branches(repo).items() if sha == row.head_sha), None)
        told = shape.check_suite(self.addresses, newest, branch, self.pulls_at(repo, row.head_sha))
        self.emit("check_suite", "completed", repo, row.app.bot if row.app else repo.owner, check_suite=told)

    def pulls_at(self, repo: Repository, sha: str) -> list[Pull]:
        """The open pull requests of a commit, of this repository's own branches: GitHub leaves forks out."""
        rows = self.pulls(repo)
        return [row for row in rows if row.issue.state == "open" and (row.head_repository, row.head_sha) == (repo, sha)]


def _branches(repo: Repository) -> dict[str, str]:
    heads = "refs/heads/"
    return {name.removeprefix(heads): sha for name, sha in repo.git.refs().items() if name.startswith(heads)}

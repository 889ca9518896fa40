"""Pull requests: from real branches of the look-alike's git repositories."""

from __future__ import annotations

from typing import Any

from bot.demo.comparison import ahead
from bot.demo.git import ZERO, GitRepository
from bot.demo.records import App, Issue, Pull, Repository, User
from bot.demo.refusal import Refused, invalid, not_found
from bot.demo.shapes import pull as shape
from bot.demo.state import RepositoryLike, UserLike
from bot.demo.threads import Threads, check_length
from bot.model.role import Role


class Pulls(Threads):
    """Actions on pull requests. Where an App acts with its own token, `app` is given: its permissions were checked."""

    def pull(self, repo: RepositoryLike, number: int) -> Pull:
        """A pull request by number. Raises 404, for an issue too."""
        found = self.repository(repo).issues.get(number)
        if found is None or found.pull is None:
            raise not_found()
        return found.pull

    def pulls(self, repo: RepositoryLike) -> list[Pull]:
        """All pull requests of a repository, oldest first."""
        return [issue.pull for issue in self.repository(repo).issues.values() if issue.pull is not None]

    def open_pull(
        self,
        repo: RepositoryLike,
        author: UserLike,
        title: str,
        *,
        head: str,
        base: str | None = None,
        body: str | None = None,
        draft: bool = False,
        app: App | None = None,
    ) -> Pull:
        """A new pull request; `head` is a branch, or `owner:branch` of a fork. `base` is by default the default branch.

        Raises 422 where a branch does not exist, nothing lies between the two, or there is an open one already.
        Source: https://docs.github.com/en/rest/pulls/pulls#create-a-pull-request
        """
        found, who = self.repository(repo), self.user(author)
        self.require(found, who, Role.READ)
        base = base or found.default_branch
        head_repo, branch = self._head(found, head)
        if head_repo is found:
            self.require(found, who, Role.READ if app else Role.WRITE)
        if (base_sha := _branch(found, base)) is None:
            raise invalid("PullRequest", "base", "", "invalid")
        if (head_sha := _branch(head_repo, branch)) is None:
            raise invalid("PullRequest", "head", "", "invalid")
        for known in self.pulls(found):
            same = (known.head_repository, known.head, known.base) == (head_repo, branch, base)
            if same and known.issue.state == "open":
                words = f"A pull request already exists for {head_repo.owner.login}:{branch}."
                raise invalid("PullRequest", "head", words, "custom")
        _take(found, head_repo, branch)
        if not ahead(found.git, base_sha, head_sha):
            raise invalid("PullRequest", "head", f"No commits between {base} and {branch}", "custom")
        if not title.strip():
            raise invalid("PullRequest", "title", "title can't be blank", "missing_field")
        check_length("PullRequest", body)
        now = self.now()
        row = Issue(self.next_id("issue"), found, found.next_number, title, body, who, now, now, app)
        made = Pull(self.next_id("pull"), row, head_repo, branch, head_sha, base, base_sha, draft)
        row.pull, row.pushes_before = made, len(found.pushes)
        found.next_number += 1
        found.issues[row.number] = row
        _point(made)
        self._issue_event("opened", row, who)
        return made

    def edit_pull(self, repo: RepositoryLike, number: int, editor: UserLike, *, base: str) -> Pull:
        """Change the branch that it goes to; title and body are the issue's. Raises 422 for a branch not there."""
        row, who = self.pull(repo, number), self.user(editor)
        self._may_edit(row.repository, row.issue.author, who)
        if (sha := _branch(row.repository, base)) is None:
            raise invalid("PullRequest", "base", "", "invalid")
        if base != row.base:
            changes = {"base": {"ref": {"from": row.base}, "sha": {"from": row.base_sha}}}
            row.base, row.base_sha, row.issue.updated_at = base, sha, self.now()
            self._issue_event("edited", row.issue, who, changes=changes)
        return row

    def set_draft(self, repo: RepositoryLike, number: int, who: UserLike, draft: bool) -> Pull:
        """Take it back to a draft, or call it ready for review. REST has no way to do this."""
        row, actor = self.pull(repo, number), self.user(who)
        self._may_edit(row.repository, row.issue.author, actor)
        if draft is not row.draft:
            row.draft, row.issue.updated_at = draft, self.now()
            self._issue_event("converted_to_draft" if draft else "ready_for_review", row.issue, actor)
        return row

    def set_state(
        self, repo: RepositoryLike, number: int, who: UserLike, state: str, reason: str | None = None
    ) -> Issue:
        """Close or open again. A merged pull request stays closed, and one without its branch cannot be opened."""
        row = self.issue(repo, number)
        if row.pull is not None and state == "open" and row.state == "closed":
            if row.pull.merged or _branch(row.pull.head_repository, row.pull.head) is None:
                raise invalid("PullRequest", "state", "state cannot be changed.", "invalid")
            self._follow(row.pull)
        changed = super().set_state(repo, number, who, state, reason)
        if changed.pull is not None:
            changed.state_reason = None
        return changed

    def merge(self, repo: RepositoryLike, number: int, who: UserLike) -> Pull:
        """Merge with a merge commit. Raises 405 where it cannot be merged."""
        row, actor = self.pull(repo, number), self.user(who)
        found = row.repository
        self.require(found, actor, Role.WRITE)
        if row.issue.state != "open" or row.draft:
            raise Refused(405, "Pull Request is not mergeable")
        base_sha = _branch(found, row.base)
        tree = base_sha and found.git.run("merge-tree", "--write-tree", base_sha, row.head_sha, check=False)
        if not base_sha or not tree:
            raise Refused(405, "Pull Request is not mergeable")
        words = f"Merge pull request #{number} from {row.head_repository.owner.login}/{row.head}\n\n{row.issue.title}"
        name, address = actor.name, self._email(actor)
        people = [f"{who} {name} <{address}> {int(self.now().timestamp())} +0000" for who in ("author", "committer")]
        parents = [f"parent {sha}" for sha in (base_sha, row.head_sha)]
        text = "\n".join([f"tree {tree.decode().split()[0]}", *parents, *people, "", words, ""])
        sha = found.git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode()).decode().strip()
        now = self.now()
        row.merged_at, row.merged_by, row.merge_commit_sha = now, actor, sha
        row.issue.state, row.issue.closed_at, row.issue.closed_by, row.issue.updated_at = "closed", now, actor, now
        found.git.run("update-ref", f"refs/heads/{row.base}", sha)
        self._issue_event("closed", row.issue, actor)
        self.pushed(found, actor, f"refs/heads/{row.base}", base_sha, sha)
        return row

    def delete_branch(self, repo: RepositoryLike, branch: str, who: UserLike) -> None:
        """Take a branch away; open pull requests from it are closed. Raises 404 where there is none."""
        found, actor = self.repository(repo), self.user(who)
        self.require(found, actor, Role.WRITE)
        if (sha := _branch(found, branch)) is None:
            raise not_found()
        found.git.run("update-ref", "-d", f"refs/heads/{branch}")
        self.pushed(found, actor, f"refs/heads/{branch}", sha, ZERO)

    def fork(self, repo: RepositoryLike, owner: UserLike) -> Repository:
        """A copy of a repository for somebody, from which pull requests can come."""
        found, who = self.repository(repo), self.user(owner)
        self.require(found, who, Role.READ)
        number, now = self.next_id("repository"), self.now()
        git = GitRepository(self.directory / f"{number}.git")
        found.git.run("clone", "--quiet", "--bare", "--no-hardlinks", str(found.git.path), str(git.path))
        made = Repository(
            number, who, found.name, found.private, found.description, git, now, now, now, found.default_branch
        )
        made.parent, made.has_issues = found, False
        self.repositories[number] = made
        return made

    def pushed(self, repo: Repository, who: User, ref: str, before: str, after: str) -> None:
        """A ref moved: open pull requests from it and to it follow."""
        super().pushed(repo, who, ref, before, after)
        branch = ref.removeprefix("refs/heads/")
        if branch == ref:
            return
        rows = [issue.pull for each in self.repositories.values() for issue in each.issues.values() if issue.pull]
        for row in rows:
            if row.issue.state != "open":
                continue
            if row.head_repository is repo and row.head == branch:
                if after == ZERO:
                    # whoever took the branch away closed it, with or without a role here
                    now = self.now()
                    row.issue.state, row.issue.closed_at, row.issue.closed_by, row.issue.updated_at = (
                        "closed", now, who, now,
                    )  # fmt: skip
                    self._issue_event("closed", row.issue, who)
                elif row.head_sha != after:
                    self._follow(row)
                    row.issue.updated_at = self.now()
                    self._issue_event("synchronize", row.issue, who, before=before, after=after)
            elif row.repository is repo and row.base == branch and after != ZERO:
                row.base_sha = after

    def _follow(self, row: Pull) -> None:
        """Take over what the branches point at."""
        _take(row.repository, row.head_repository, row.head)
        row.head_sha = _branch(row.head_repository, row.head) or row.head_sha
        row.base_sha = _branch(row.repository, row.base) or row.base_sha
        _point(row)

    def _head(self, repo: Repository, text: str) -> tuple[Repository, str]:
        """The repository and branch that `branch` or `owner:branch` names. Raises 422."""
        owner, colon, branch = text.partition(":")
        if not colon or owner.lower() == repo.owner.login.lower():
            return repo, branch if colon else text
        for each in self.repositories.values():
            if each.parent is repo and each.owner.login.lower() == owner.lower():
                return each, branch
        raise invalid("PullRequest", "head", "", "invalid")

    def _issue_event(self, action: str, row: Issue, sender: User, **fields: Any) -> None:
        if row.pull is None:
            super()._issue_event(action, row, sender, **fields)
            return
        # of a pull request GitHub sends `pull_request`, never `issues`
        if self.listening("pull_request", row.repository):
            told = shape.pull(self.addresses, row.pull)
            self.emit("pull_request", action, row.repository, sender, number=row.number, pull_request=told, **fields)
        self.changed("issue", row.repository, row.number)


def _branch(repo: Repository, name: str) -> str | None:
    return repo.git.resolve(f"refs/heads/{name}") if name else None


def _take(base: Repository, head: Repository, branch: str) -> None:
    """Have the objects of a fork's branch, as GitHub's forks share theirs."""
    if head is not base:
        base.git.run("fetch", "--quiet", "--no-tags", str(head.git.path), f"refs/heads/{branch}")


def _point(row: Pull) -> None:
    """`refs/pull/N/head`, by which a pull request is fetched wherever its branch is."""
    row.repository.git.run("update-ref", f"refs/pull/{row.number}/head", row.head_sha)

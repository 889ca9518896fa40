"""Accounts, repositories and roles: what their owners do to them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from bot.demo.comparison import merge_base
from bot.demo.git import ZERO, GitRepository
from bot.demo.records import Push, Repository, User
from bot.demo.refusal import Refused, invalid, not_found
from bot.demo.shapes.common import stamp
from bot.demo.shapes.repository import page
from bot.demo.state import RepositoryLike, State, UserLike
from bot.model.role import Role

Files = Mapping[str, str | bytes | None]


class People(State):
    """Actions on accounts and repositories. Whoever lacks the role is refused as GitHub would (403)."""

    def add_user(self, login: str, *, type: str = "User", name: str = "") -> User:  # noqa: A002 - GitHub's own word
        """A new account; `type` is User, Organization or Bot."""
        if login.lower() in self.users:
            raise invalid("User", "login", "login has already been taken", "already_exists")
        made = User(self.next_id("user"), login, type, name or login.capitalize(), self.now())
        self.users[login.lower()] = made
        return made

    def add_repository(
        self,
        owner: UserLike,
        name: str,
        files: Files | None = None,
        private: bool = False,
        *,
        description: str | None = None,
        branch: str = "main",
    ) -> Repository:
        """A new repository with one commit of `files` (with none, a README)."""
        who = self.user(owner)
        number, now = self.next_id("repository"), self.now()
        git = GitRepository.create(self.directory / f"{number}.git", branch)
        made = Repository(number, who, name, private, description, git, now, now, now, branch)
        self.repositories[number] = made
        git.commit(branch, files or {"README.md": f"# {name}\n"}, (who.name, self._email(who)), "First commit", now)
        return made

    def rename_repository(self, repo: RepositoryLike, name: str, who: UserLike | None = None) -> None:
        """The old name redirects (301) until another repository takes it. Nobody named: the owner does it."""
        found = self.repository(repo)
        old = found.name
        self.former_names[found.full_name.lower()] = found.id
        found.name = name
        changes = {"repository": {"name": {"from": old}}}
        self.emit("repository", "renamed", found, self._admin(found, who), changes=changes)

    def _admin(self, repo: Repository, who: UserLike | None) -> User:
        """Whoever administers a repository. Raises 403 for others."""
        actor = repo.owner if who is None else self.user(who)
        self.require(repo, actor, Role.ADMIN)
        return actor

    def delete_repository(self, repo: RepositoryLike, who: UserLike | None = None) -> None:
        """Gone, with its threads."""
        found = self.repository(repo)
        self.emit("repository", "deleted", found, self._admin(found, who))
        for issue in found.issues.values():
            for comment in issue.comments:
                self.comments_by_id.pop(comment.id, None)
        del self.repositories[found.id]

    def set_role(self, repo: RepositoryLike, login: UserLike, role: Role | str) -> None:
        """Grant a role; `none` takes it away."""
        found, who, granted = self.repository(repo), self.user(login), Role(role)
        found.roles.pop(who.login.lower(), None)
        if granted is not Role.NONE:
            found.roles[who.login.lower()] = granted
        self.changed("role", found)

    def role(self, repo: RepositoryLike, who: UserLike) -> Role:
        """The effective role: the owner administers, everybody reads what is public."""
        found, person = self.repository(repo), self.user(who)
        if person is found.owner:
            return Role.ADMIN
        granted = found.roles.get(person.login.lower(), Role.NONE)
        return Role.READ if granted is Role.NONE and not found.private else granted

    def require(self, repo: Repository, who: User, least: Role) -> None:
        """Refuse (404 to who may not even read, else 403) unless the person has at least this role.

        Bots are not asked: what they may do stands in their token.
        """
        if who.type == "Bot":
            return
        role = self.role(repo, who)
        if not role.at_least(Role.READ):
            raise not_found()
        if not role.at_least(least):
            raise Refused(403, f"Must have {least} rights to Repository.")

    def write_file(
        self,
        repo: RepositoryLike,
        path: str,
        text: str | bytes | None,
        author: UserLike | None = None,
        message: str = "",
        *,
        branch: str | None = None,
    ) -> str:
        """Commit one file (None deletes it) to the default branch; returns the commit's SHA."""
        words = message or ("Delete" if text is None else "Update") + f" {path}"
        return self.write_files(repo, {path: text}, author, words, branch=branch)

    def write_files(
        self, repo: RepositoryLike, files: Files, author: UserLike | None, message: str, *, branch: str | None = None
    ) -> str:
        """Commit several files at once."""
        found = self.repository(repo)
        who = self.user(author) if author is not None else found.owner
        self.require(found, who, Role.WRITE)
        name = branch or found.default_branch
        before = found.git.resolve(name) or ZERO
        start = found.git.resolve(found.default_branch) if before == ZERO else None
        after = found.git.commit(name, files, (who.name, self._email(who)), message, self.now(), start=start)
        self.pushed(found, who, f"refs/heads/{name}", before, after)
        return after

    def pushed(self, repo: Repository, who: User, ref: str, before: str, after: str) -> None:
        """A ref moved: remember when, and send `push`."""
        repo.pushed_at = repo.updated_at = self.now()
        html = page(self.addresses, repo)
        forced = ZERO not in (before, after) and merge_base(repo.git, before, after) != before
        rows = [] if after == ZERO else [self._pushed_commit(repo, sha) for sha in repo.git.log(after, before)[-20:]]
        if ref == f"refs/heads/{repo.default_branch}":
            for row in rows:
                message = str(row["message"]).partition("\n")[0]
                repo.pushes.append(Push(who, repo.pushed_at, str(row["id"]), message, self.newest_comment))
        person = {"name": who.login, "email": self._email(who)}
        self.emit(
            "push", None, repo, who, ref=ref, before=before, after=after, created=before == ZERO,
            deleted=after == ZERO, forced=forced, base_ref=None, compare=f"{html}/compare/{before[:12]}...{after[:12]}",
            commits=rows, head_commit=rows[-1] if rows else None, pusher=person,
        )  # fmt: skip
        self.changed("push", repo)

    def _pushed_commit(self, repo: Repository, sha: str) -> dict[str, object]:
        made = repo.git.details(sha)
        assert made is not None
        touched = repo.git.changes(sha)
        by = {"added": "added", "removed": "removed", "modified": "modified", "changed": "modified"}
        lists = {word: [file.path for file in touched if by[file.status] == word] for word in set(by.values())}
        people = [{"name": who[0], "email": who[1]} for who in (made.author, made.committer)]
        at = stamp(datetime.fromtimestamp(made.committer[2], UTC))
        return {
            "id": sha, "tree_id": made.tree, "distinct": True, "message": made.message.rstrip("\n"), "timestamp": at,
            "url": f"{page(self.addresses, repo)}/commit/{sha}", "author": people[0], "committer": people[1], **lists,
        }  # fmt: skip

    def by_email(self, address: str) -> User | None:
        """The account whose commits carry this address."""
        for who in self.users.values():
            if self._email(who) == address:
                return who
        return None

    def _email(self, who: User) -> str:
        host = self.site_url.split("://", 1)[1].split(":", 1)[0]
        return f"{who.id}+{who.login}@users.noreply.{host}"

"""Repositories and what git holds (schemas `full-repository`, `commit`, `git-tree`, `blob`, `content-*`)."""

from __future__ import annotations

from base64 import encodebytes
from datetime import UTC, datetime
from urllib.parse import quote

from bot.demo.git import Commit, Entry, FileChange
from bot.demo.records import Repository, User
from bot.demo.shapes.account import permissions, user, user_or_none
from bot.demo.shapes.common import JSON, Addresses, node_id, stamp
from bot.model.role import Role

_PLAIN = ("contributors", "deployments", "downloads", "events", "forks", "hooks", "languages", "merges", "stargazers",
          "subscribers", "subscription", "tags", "teams")  # fmt: skip
_TEMPLATED = {
    "archive": "/{archive_format}{/ref}",
    "assignees": "/assignees{/user}",
    "blobs": "/git/blobs{/sha}",
    "branches": "/branches{/branch}",
    "collaborators": "/collaborators{/collaborator}",
    "comments": "/comments{/number}",
    "commits": "/commits{/sha}",
    "compare": "/compare/{base}...{head}",
    "contents": "/contents/{+path}",
    "git_commits": "/git/commits{/sha}",
    "git_refs": "/git/refs{/sha}",
    "git_tags": "/git/tags{/sha}",
    "issue_comment": "/issues/comments{/number}",
    "issue_events": "/issues/events{/number}",
    "issues": "/issues{/number}",
    "keys": "/keys{/key_id}",
    "labels": "/labels{/name}",
    "milestones": "/milestones{/number}",
    "notifications": "/notifications{?since,all,participating}",
    "pulls": "/pulls{/number}",
    "releases": "/releases{/id}",
    "statuses": "/statuses/{sha}",
    "trees": "/git/trees{/sha}",
}


def base(at: Addresses, repo: Repository) -> str:
    """The repository's REST address."""
    return f"{at.api}/repos/{repo.full_name}"


def page(at: Addresses, repo: Repository) -> str:
    """The repository's address for people."""
    return f"{at.site}/{repo.full_name}"


def repository(at: Addresses, repo: Repository, role: Role | None = None) -> JSON:
    """Schema `repository`, with the asker's permissions where `role` is given."""
    api, html = base(at, repo), page(at, repo)
    opened = sum(issue.state == "open" for issue in repo.issues.values())
    host = at.site.split("://", 1)[1]
    return {
        "id": repo.id,
        "node_id": node_id("Repository", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
        "owner": user(at, repo.owner),
        "html_url": html,
        "description": repo.description,
        "fork": repo.parent is not None,
        "url": api,
        **{f"{name}_url": f"{api}/{name}" for name in _PLAIN},
        **{f"{name}_url": api + rest for name, rest in _TEMPLATED.items()},
        "created_at": stamp(repo.created_at),
        "updated_at": stamp(repo.updated_at),
        "pushed_at": stamp(repo.pushed_at),
        "git_url": f"git://{host}/{repo.full_name}.git",
        "ssh_url": f"git@{host}:{repo.full_name}.git",
        "clone_url": f"{html}.git",
        "svn_url": html,
        "mirror_url": None,
        "homepage": None,
        "size": 0,
        "stargazers_count": 0,
        "watchers_count": 0,
        "watchers": 0,
        "language": None,
        "has_issues": repo.has_issues,
        "has_projects": False,
        "has_downloads": False,
        "has_wiki": False,
        "has_pages": False,
        "has_discussions": False,
        "forks_count": 0,
        "forks": 0,
        "archived": repo.archived,
        "disabled": False,
        "open_issues_count": opened,
        "open_issues": opened,
        "license": None,
        "allow_forking": True,
        "is_template": False,
        "web_commit_signoff_required": False,
        "topics": [],
        "visibility": "private" if repo.private else "public",
        "default_branch": repo.default_branch,
        **({} if role is None else {"permissions": permissions(role)}),
    }


def full_repository(at: Addresses, repo: Repository, role: Role | None = None) -> JSON:
    """Schema `full-repository`."""
    owner = {"organization": user(at, repo.owner)} if repo.owner.type == "Organization" else {}
    parent = {} if repo.parent is None else dict.fromkeys(("parent", "source"), repository(at, repo.parent))
    counts = {"network_count": 0, "subscribers_count": 0, "custom_properties": {}}
    return {**repository(at, repo, role), **counts, **owner, **parent}


def webhook_repository(at: Addresses, repo: Repository, event: str) -> JSON:
    """The `repository` of a webhook payload; that of `push` has times as Unix seconds and some older fields."""
    out = {**repository(at, repo), "custom_properties": {}}
    if event == "push":
        out |= {
            "created_at": int(repo.created_at.timestamp()),
            "pushed_at": int(repo.pushed_at.timestamp()),
            "stargazers": 0,
            "master_branch": repo.default_branch,
        }
    return out


def brief(repo: Repository) -> JSON:
    """A repository as events about installations list it."""
    return {
        "id": repo.id,
        "node_id": node_id("Repository", repo.id),
        "name": repo.name,
        "full_name": repo.full_name,
        "private": repo.private,
    }


def _signature(person: tuple[str, str, int]) -> JSON:
    return {"name": person[0], "email": person[1], "date": stamp(datetime.fromtimestamp(person[2], UTC))}


def commit(
    at: Addresses,
    repo: Repository,
    made: Commit,
    files: tuple[FileChange, ...],
    people: tuple[User | None, User | None],
) -> JSON:
    """Schema `commit`; `people` are the accounts of author and committer, where their addresses are known."""
    api, html = base(at, repo), page(at, repo)
    return {
        "sha": made.sha,
        "node_id": node_id("Commit", int(made.sha[:8], 16)),
        "commit": {
            "author": _signature(made.author),
            "committer": _signature(made.committer),
            "message": made.message.removesuffix("\n"),
            "tree": {"sha": made.tree, "url": f"{api}/git/trees/{made.tree}"},
            "url": f"{api}/git/commits/{made.sha}",
            "comment_count": 0,
            "verification": {
                "verified": False,
                "reason": "unsigned",
                "signature": None,
                "payload": None,
                "verified_at": None,
            },
        },
        "url": f"{api}/commits/{made.sha}",
        "html_url": f"{html}/commit/{made.sha}",
        "comments_url": f"{api}/commits/{made.sha}/comments",
        "author": user_or_none(at, people[0]),
        "committer": user_or_none(at, people[1]),
        "parents": [
            {"sha": sha, "url": f"{api}/commits/{sha}", "html_url": f"{html}/commit/{sha}"} for sha in made.parents
        ],
        "stats": {
            "total": sum(file.additions + file.deletions for file in files),
            "additions": sum(file.additions for file in files),
            "deletions": sum(file.deletions for file in files),
        },
        "files": [diff_entry(at, repo, made.sha, file) for file in files],
    }


def diff_entry(at: Addresses, repo: Repository, sha: str, file: FileChange, patch: str = "", before: str = "") -> JSON:
    """Schema `diff-entry`: one file that changed, as it is at `sha`; `before` is the name that it had."""
    path, html = quote(file.path), page(at, repo)
    return {
        "sha": file.sha,
        "filename": file.path,
        "status": file.status,
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": f"{html}/blob/{sha}/{path}",
        "raw_url": f"{html}/raw/{sha}/{path}",
        "contents_url": f"{base(at, repo)}/contents/{path}?ref={sha}",
        **({"patch": patch} if patch else {}),
        **({"previous_filename": before} if before else {}),
    }


def tree(at: Addresses, repo: Repository, sha: str, entries: tuple[Entry, ...]) -> JSON:
    """Schema `git-tree`."""
    api = base(at, repo)
    kinds = {"blob": "blobs", "tree": "trees"}
    rows: list[JSON] = []
    for entry in entries:
        row: JSON = {"path": entry.path, "mode": entry.mode, "type": entry.type, "sha": entry.sha}
        if entry.size is not None:
            row["size"] = entry.size
        if entry.type in kinds:
            row["url"] = f"{api}/git/{kinds[entry.type]}/{entry.sha}"
        rows.append(row)
    return {"sha": sha, "url": f"{api}/git/trees/{sha}", "tree": rows, "truncated": False}


def blob(at: Addresses, repo: Repository, sha: str, content: bytes) -> JSON:
    """Schema `blob`: base64 in lines of 60, as GitHub breaks them."""
    return {
        "sha": sha,
        "node_id": node_id("Blob", int(sha[:8], 16)),
        "size": len(content),
        "url": f"{base(at, repo)}/git/blobs/{sha}",
        "content": encodebytes(content).decode(),
        "encoding": "base64",
    }


def content(at: Addresses, repo: Repository, ref: str, entry: Entry, data: bytes | None) -> JSON:
    """Schemas `content-file`, `content-symlink`, `content-submodule`, or one row of `content-directory`.

    `data` is the blob, given only where the entry itself was asked for.
    """
    api, html = base(at, repo), page(at, repo)
    path = quote(entry.path)
    kind = {"tree": "dir", "commit": "submodule"}.get(entry.type, "symlink" if entry.mode == "120000" else "file")
    own = f"{api}/contents/{path}?ref={quote(ref)}"
    git = f"{api}/git/{'trees' if kind == 'dir' else 'blobs'}/{entry.sha}"
    web = f"{html}/{'tree' if kind == 'dir' else 'blob'}/{quote(ref)}/{path}"
    out: JSON = {
        "name": entry.path.rsplit("/", 1)[-1],
        "path": entry.path,
        "sha": entry.sha,
        "size": entry.size or 0,
        "url": own,
        "html_url": web,
        "git_url": git,
        "download_url": f"{html}/raw/{quote(ref)}/{path}" if kind in {"file", "symlink"} else None,
        "type": kind,
        "_links": {"self": own, "git": git, "html": web},
    }
    if data is not None and kind == "symlink":
        out["target"] = data.decode(errors="replace")
    elif data is not None:
        out |= {"content": encodebytes(data).decode(), "encoding": "base64"}
    return out

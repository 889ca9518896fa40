"""Repositories, people in them, and what git holds.

Sources: https://docs.github.com/en/rest/repos/repos, https://docs.github.com/en/rest/git
"""

from __future__ import annotations

import asyncio

from bot.demo.git import Entry
from bot.demo.records import Repository
from bot.demo.refusal import Refused, not_found
from bot.demo.rest.call import Call, Reply
from bot.demo.rest.paging import page
from bot.demo.shapes import account
from bot.demo.shapes import repository as shape
from bot.demo.shapes.common import JSON
from bot.demo.shapes.pull import plain_commit
from bot.model.role import Role


async def get_repository(call: Call) -> Reply:
    """One repository."""
    repo, viewer = call.repository("metadata"), call.viewer
    role = None
    if viewer.kind == "user" and viewer.user:
        role = call.world.role(repo, viewer.user)
    elif viewer.kind == "installation":
        role = Role.NONE  # an App has permissions, not a role: GitHub shows all five flags as false
    return Reply(shape.full_repository(call.world.addresses, repo, role))


async def get_permission(call: Call) -> Reply:
    """The effective role of a person. Raises 404 for Apps' bots, which have none."""
    repo = call.repository("metadata")
    who = call.world.users.get(call.params["username"].lower())
    if who is None or who.type != "User":
        raise Refused(404, f"{call.params['username']} is not a user")
    return Reply(account.permission(call.world.addresses, who, call.world.role(repo, who)))


async def get_user(call: Call) -> Reply:
    """A public profile."""
    return Reply(account.profile(call.world.addresses, call.world.user(call.params["username"])))


async def get_commit(call: Call) -> Reply:
    """A commit, or only its SHA with `application/vnd.github.sha`."""
    repo, ref = call.repository("contents"), call.params["ref"]
    sha = await asyncio.to_thread(repo.git.resolve, ref)
    if sha is None:
        raise Refused(422, f"No commit found for SHA: {ref}")
    if call.media == "sha":
        return Reply(raw=sha.encode(), media="application/vnd.github.sha; charset=utf-8")
    made, files = await asyncio.to_thread(lambda: (repo.git.details(sha), repo.git.changes(sha)))
    assert made is not None
    people = (call.world.by_email(made.author[1]), call.world.by_email(made.committer[1]))
    return Reply(shape.commit(call.world.addresses, repo, made, files, people))


async def list_commits(call: Call) -> Reply:
    """Commits of a branch, newest first; with `path` those that touched it."""
    repo = call.repository("contents")
    ref, path = call.query("sha") or repo.default_branch, call.query("path")
    sha = await asyncio.to_thread(repo.git.resolve, ref)
    if sha is None:
        raise not_found()
    limits = ["--", path] if path else []
    listed = (await asyncio.to_thread(repo.git.run, "rev-list", sha, *limits)).decode().split()
    shown, headers = page(call, listed, repo)
    rows = []
    for one in shown:
        made = await asyncio.to_thread(repo.git.details, one)
        assert made is not None
        people = (call.world.by_email(made.author[1]), call.world.by_email(made.committer[1]))
        rows.append(plain_commit(call.world.addresses, repo, made, people))
    return Reply(rows, headers=headers)


async def get_tree(call: Call) -> Reply:
    """A tree, with all below it where `recursive` has any value."""
    repo, treeish, deep = call.repository("contents"), call.params["tree_sha"], call.query("recursive") is not None
    entries = await asyncio.to_thread(lambda: repo.git.tree(treeish, recursive=deep))
    sha = await asyncio.to_thread(repo.git.tree_sha, treeish)
    if entries is None or sha is None:
        raise not_found()
    return Reply(shape.tree(call.world.addresses, repo, sha, entries))


async def get_blob(call: Call) -> Reply:
    """A blob by SHA."""
    repo, sha = call.repository("contents"), call.params["file_sha"]
    content = await asyncio.to_thread(repo.git.blob, sha)
    if content is None:
        raise not_found()
    if call.media == "raw":
        return Reply(raw=content, media="application/vnd.github.raw+json; charset=utf-8")
    return Reply(shape.blob(call.world.addresses, repo, sha, content))


async def get_contents(call: Call) -> Reply:
    """A file, or the rows of a folder."""
    repo, path = call.repository("contents"), call.params.get("path", "").strip("/")
    ref = call.query("ref") or repo.default_branch
    sha = await asyncio.to_thread(repo.git.resolve, ref)
    if sha is None:
        raise Refused(404, f"No commit found for the ref {ref}")
    found = await asyncio.to_thread(_look, repo, sha, path)
    if found is None:
        raise not_found()
    at = call.world.addresses
    if isinstance(found, tuple):
        entry, data = found
        if call.media == "raw" and data is not None:
            return Reply(raw=data, media="application/vnd.github.raw+json; charset=utf-8")
        return Reply(shape.content(at, repo, ref, entry, data))
    rows: list[JSON] = [shape.content(at, repo, ref, entry, None) for entry in found]
    return Reply(rows)


def _look(repo: Repository, sha: str, path: str) -> tuple[Entry, bytes | None] | list[Entry] | None:
    """The file with its content, or the entries of the folder, at a path of a commit."""
    entries = repo.git.tree(sha, recursive=True) or ()
    for entry in entries:
        if entry.path == path and entry.type != "tree":
            return entry, repo.git.blob(entry.sha)
    if path and not any(entry.path == path for entry in entries):
        return None
    return [entry for entry in entries if entry.path.rpartition("/")[0] == path]

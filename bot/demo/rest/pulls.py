"""Pull requests, branches and comparisons.

Sources: https://docs.github.com/en/rest/pulls/pulls, https://docs.github.com/en/rest/branches/branches,
https://docs.github.com/en/rest/git/refs, https://docs.github.com/en/rest/commits/commits#compare-two-commits
"""

from __future__ import annotations

import asyncio

from bot.demo.comparison import ahead, diff, files, merge_base, patches
from bot.demo.records import Pull, Repository
from bot.demo.refusal import Refused, malformed, not_found
from bot.demo.rest.call import Call, Level, Reply
from bot.demo.rest.paging import page
from bot.demo.shapes import pull as shape
from bot.demo.shapes.common import JSON, node_id
from bot.demo.shapes.repository import base
from bot.demo.shapes.repository import page as web

#: GitHub compares no more files than this
_MOST_FILES = 300


def find(call: Call, level: Level = "read") -> Pull:
    """The pull request in the path."""
    repo = call.repository("pull_requests", level)
    return call.world.pull(repo, call.number("pull_number"))


def _text(kind: str, text: str) -> Reply:
    media = f"application/vnd.github.{kind}; charset=utf-8"
    return Reply(raw=text.encode("utf-8", "replace"), media=media)


async def list_pulls(call: Call) -> Reply:
    """Pull requests of a repository, newest first."""
    repo = call.repository("pull_requests")
    state, head, branch = call.query("state") or "open", call.query("head"), call.query("base")
    rows = [
        row
        for row in call.world.pulls(repo)
        if state in {row.issue.state, "all"}
        and (head is None or ":" not in head or head == f"{row.head_repository.owner.login}:{row.head}")
        and (branch is None or branch == row.base)
    ]
    # by default the newest first; what was asked to be in order comes in order
    down = (call.query("direction") or ("desc" if call.query("sort") in {None, "created"} else "asc")) == "desc"
    updated = call.query("sort") == "updated"
    rows.sort(key=lambda row: (row.issue.updated_at if updated else row.issue.created_at, row.number), reverse=down)
    shown, headers = page(call, rows, repo)
    return Reply([shape.simple_pull(call.world.addresses, row) for row in shown], headers=headers)


async def create_pull(call: Call) -> Reply:
    """A new pull request."""
    repo = call.repository("pull_requests", "write")
    made = await asyncio.to_thread(
        call.world.open_pull,
        repo,
        call.actor(),
        call.needed("title", str),
        head=call.needed("head", str),
        base=call.needed("base", str),
        body=call.field("body", str),
        draft=call.field("draft", bool) or False,
        app=call.viewer.app,
    )
    shown = await asyncio.to_thread(shape.pull, call.world.addresses, made)
    return Reply(shown, 201, {"Location": shown["url"]})


async def get_pull(call: Call) -> Reply:
    """One pull request; its diff or its patches with those media types."""
    row = find(call)
    if call.media in {"diff", "patch"}:
        return await _differences(call, row.repository, row.base_sha, row.head_sha)
    return Reply(await asyncio.to_thread(shape.pull, call.world.addresses, row))


async def _differences(call: Call, repo: Repository, first: str, last: str) -> Reply:
    touched = await asyncio.to_thread(files, repo.git, first, last)
    if len(touched) > _MOST_FILES:
        words = f"Sorry, the diff exceeded the maximum number of files ({_MOST_FILES})."
        raise Refused(406, words, [{"resource": "PullRequest", "field": "diff", "code": "too_large"}])
    make = diff if call.media == "diff" else patches
    return _text(call.media, await asyncio.to_thread(make, repo.git, first, last))


async def update_pull(call: Call) -> Reply:
    """Change title, body, state or base."""
    row, actor = find(call, "write"), call.actor()
    where = (row.repository, row.number, actor)
    call.world.edit_issue(*where, title=call.field("title", str), body=call.field("body", str))
    if (branch := call.field("base", str)) is not None:
        await asyncio.to_thread(lambda: call.world.edit_pull(*where, base=branch))
    if state := call.field("state", str):
        if state not in {"open", "closed"}:
            raise malformed(f"For 'properties/state', {state} is not one of open, closed.")
        call.world.set_state(*where, state)
    return Reply(await asyncio.to_thread(shape.pull, call.world.addresses, row))


async def list_files(call: Call) -> Reply:
    """The files that a pull request changes, by path."""
    row = find(call)
    rows = await asyncio.to_thread(files, row.repository.git, row.base_sha, row.head_sha)
    shown, headers = page(call, rows, row.repository)
    at = call.world.addresses
    return Reply([shape.file_diff(at, row.repository, row.head_sha, file) for file in shown], headers=headers)


async def compare(call: Call) -> Reply:
    """Two commits, branches or tags; the diff or the patches with those media types."""
    repo, spec = call.repository("contents"), call.params["basehead"]
    first_name, dots, last_name = spec.partition("...")
    git = repo.git
    first, last = await asyncio.to_thread(lambda: (git.resolve(first_name), git.resolve(last_name)))
    if not dots or first is None or last is None:
        raise not_found()
    if call.media in {"diff", "patch"}:
        return await _differences(call, repo, first, last)
    return await asyncio.to_thread(_compared, call, repo, spec, first, last)


def _compared(call: Call, repo: Repository, spec: str, first: str, last: str) -> Reply:
    at = call.world.addresses
    start = merge_base(repo.git, first, last)
    if start is None:
        raise not_found()
    shown, headers = page(call, ahead(repo.git, first, last), repo)
    known = {sha: _commit(call, repo, sha) for sha in {first, start, *shown}}
    out = shape.comparison(at, repo, spec, first, last, [known[sha] for sha in shown], known)
    return Reply(out, headers=headers)


def _commit(call: Call, repo: Repository, sha: str) -> JSON:
    made = repo.git.details(sha)
    assert made is not None
    people = (call.world.by_email(made.author[1]), call.world.by_email(made.committer[1]))
    return shape.plain_commit(call.world.addresses, repo, made, people)


async def get_branch(call: Call) -> Reply:
    """A branch with its newest commit; nothing is protected here."""
    repo, name = call.repository("contents"), call.params["branch"]
    sha = await asyncio.to_thread(repo.git.resolve, f"refs/heads/{name}")
    if sha is None:
        raise Refused(404, "Branch not found")
    made = await asyncio.to_thread(_commit, call, repo, sha)
    at = call.world.addresses
    url = f"{base(at, repo)}/branches/{name}"
    checks: JSON = {"enforcement_level": "off", "contexts": [], "checks": []}
    out = {
        "name": name,
        "commit": made,
        "_links": {"self": url, "html": f"{web(at, repo)}/tree/{name}"},
        "protected": False,
        "protection": {"enabled": False, "required_status_checks": checks},
        "protection_url": f"{url}/protection",
    }
    return Reply(out)


async def get_ref(call: Call) -> Reply:
    """What a ref (`heads/main`, `tags/v1`, `pull/1/head`) points at."""
    repo, ref = call.repository("contents"), call.params["ref"]
    sha = await asyncio.to_thread(lambda: repo.git.refs().get(f"refs/{ref}"))
    kind = await asyncio.to_thread(lambda: repo.git.read(sha)) if sha else None
    if sha is None or kind is None:
        raise not_found()
    url = base(call.world.addresses, repo)
    out = {
        "ref": f"refs/{ref}",
        "node_id": node_id("Ref", int(sha[:8], 16)),
        "url": f"{url}/git/refs/{ref}",
        "object": {"type": kind[0], "sha": sha, "url": f"{url}/git/{kind[0]}s/{sha}"},
    }
    return Reply(out)

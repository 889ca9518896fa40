"""The kind `pull_request`: opens or updates the pull request of this thread's branch."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Protocol

from bot.errors import NotFound
from bot.model.ident import compact
from bot.model.outcome import Done, Failed, Intent, Outcome, Wait
from bot.model.pull import PullFile

#: files that GitHub compares at most
MOST_FILES = 300
#: characters of the slug; git and GitHub take more, people do not
_SLUG = 50
#: letters that Unicode does not take apart
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "ø": "o", "đ": "d", "ł": "l", "þ": "th", "œ": "oe", "ı": "i"})
_CLOSES = re.compile(
    r"^(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?[ ]+#(\d+)\.?[ \t\r]*$", re.IGNORECASE | re.MULTILINE
)


class Remote(Protocol):
    """The repository on GitHub, after the workspace's branch was pushed. Errors are those of `bot.errors`."""

    async def branch_head(self, name: str) -> str:
        """The commit that a branch points at. Raises NotFound where there is no such branch."""

    async def compare(self, base: str, head: str) -> tuple[PullFile, ...]:
        """The files that differ between the merge base of two branches and the second; GitHub names 300 at most."""


async def perform_pull_request(
    *,
    title: str,
    body: str,
    draft: bool,
    base: str,
    branch: str,
    issue: int | None,
    remote: Remote,
) -> Outcome:
    """What is to be opened or updated, or that there is nothing to propose: then there is no pull request either.

    `issue` is the number of the issue that it closes, None where the thread is a pull request itself.
    """
    title = " ".join(title.split())
    if not title:
        return Failed("pull_request_title", "`title` is empty", "A pull request needs a title.")
    if branch == base:
        return Failed("pull_request_branch", f"`{branch}` is the branch that it would go to", "Use another `base`.")
    head_sha, files = await _changes(remote, base, branch)
    if not files:
        return Done(
            output=f"No change: there is nothing to propose to `{base}`, so there is no pull request.",
            result={"branch": None, "pr_url": None, "number": None, "head_sha": None},
        )
    payload = {"head": branch, "base": base, "title": title, "body": body.strip(), "draft": draft}
    if issue is not None and not _closes(body, issue):
        payload["closes"] = issue
    counts = {
        "files": len(files),
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
    }
    kept = compact({"branch": branch, "head_sha": head_sha, "counts": counts}).encode()
    return Wait("posts", kept=kept, intents=(Intent("pull_request", payload),))


def pull_request_result(outcome: Mapping[str, Any], kept: bytes) -> Done:
    """The step's end once it is open. `outcome` is what its row says GitHub made of it.

    `head_sha` is the commit that was compared: what is pushed later is not this step's.
    """
    asked = json.loads(kept)
    number, url = outcome["number"], outcome["pr_url"]
    kind = "Draft pull request" if outcome.get("draft") else "Pull request"
    done = "opened" if outcome.get("opened") else "updated"
    lines = [f"{kind} [#{number}]({url}) {done}: {_statistics(asked['counts'])}."]
    if outcome.get("draft_refused"):
        lines.append("This repository has no drafts, so it is an ordinary one.")
    return Done(
        output="\n\n".join(lines),
        result={"branch": asked["branch"], "pr_url": url, "number": number, "head_sha": asked["head_sha"]},
    )


def branch_name(prefix: str, number: int, title: str) -> str:
    """`<prefix><issue number>-<slug of the title>`: lower-case ASCII letters, digits and single hyphens.

    Letters lose their accents; a title of which nothing is left gives no slug. The slug is cut at a word.
    """
    plain = unicodedata.normalize("NFKD", title.casefold().translate(_LETTERS))
    ascii_only = "".join(char for char in plain if not unicodedata.combining(char))
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_only).strip("-")
    if len(slug) > _SLUG:
        whole, _, _ = slug[: _SLUG + 1].rpartition("-")
        slug = whole or slug[:_SLUG]
    return f"{prefix}{number}-{slug}" if slug else f"{prefix}{number}"


def _closes(body: str, issue: int) -> bool:
    """Whether a line of the body says by itself that the issue is closed."""
    return any(int(found[1]) == issue for found in _CLOSES.finditer(body))


async def _changes(remote: Remote, base: str, branch: str) -> tuple[str, tuple[PullFile, ...]]:
    """The branch's head, and the files that it changes; none where there is no such branch."""
    try:
        head_sha = await remote.branch_head(branch)
    except NotFound:
        return "", ()
    return head_sha, await remote.compare(base, branch)


def _statistics(counts: Mapping[str, int]) -> str:
    more = "at least " if counts["files"] >= MOST_FILES else ""
    files = "1 file" if counts["files"] == 1 else f"{counts['files']} files"
    return f"{more}{files}, +{counts['additions']} −{counts['deletions']}"

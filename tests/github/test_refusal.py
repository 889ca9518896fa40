"""GitHub's words become words of ours."""

from __future__ import annotations

import httpx
import pytest

from bot.errors import Forbidden, NotFound
from bot.github import refusal, retry


def said(status: int, message: str, **headers: str) -> httpx.Response:
    return httpx.Response(
        status, json={"message": message}, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


@pytest.mark.parametrize(
    ("status", "message", "word"),
    [
        (403, "Unable to create comment because issue is locked.", "locked"),
        (422, "Unprocessable Entity (lock prevents review)", "locked"),
        (410, "This issue was deleted", "deleted"),
        (410, "Issues has been disabled in this repository.", "issues_disabled"),
        (410, "Issues are disabled for this repo", "issues_disabled"),
        (403, "Repository was archived so is read-only.", "archived"),
        (403, "Repository access blocked", "blocked"),
        (451, "Repository unavailable due to DMCA takedown.", "blocked"),
        (403, "This installation has been suspended", "suspended"),
        (
            422,
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
            "repository_removed",
        ),
        (403, "Resource not accessible by integration", "permission_missing"),
        (404, "Not Found", ""),
        (422, "Validation Failed", ""),
        (403, "Cannot update this protected ref: the branch is locked", ""),
    ],
)
def test_words(status: int, message: str, word: str) -> None:
    """Each has its own; all others have none."""
    error = retry.final(said(status, message), what="POST /x")
    assert isinstance(error, NotFound | Forbidden)
    assert error.why == word


@pytest.mark.parametrize(
    ("header", "word"),
    [
        ("issues=write; pull_requests=write", "permission_missing: issues: write"),
        ("issues=write,contents=read", "permission_missing: issues: write, contents: read"),
        ("", "permission_missing"),
    ],
)
def test_a_permission_is_named(header: str, word: str) -> None:
    """Where GitHub says which one it takes."""
    message = "Resource not accessible by integration"
    response = said(403, message, x_accepted_github_permissions=header)
    assert refusal.why(response, message) == word

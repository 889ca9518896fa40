"""What a step says that waits for what it posts, when that was not done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.model.outcome import Failed

_NOUNS = {
    "comment": "the comment",
    "labels": "setting the labels",
    "assign": "the assignment",
    "close": "closing the thread",
    "review": "the review",
    "pull_request": "the pull request",
    "webhook": "the webhook",
}

#: what the stable reasons of rows mean, and what can be done about them
_ENDS = {
    "locked": ("the conversation is locked", "Unlock it, then ask again."),
    "deleted": ("the issue was deleted", "Ask in another one."),
    "transferred": ("the issue was transferred to another repository", "Ask again where it is now."),
    "issues_disabled": ("the repository has no issues any more", "Turn them on again in its settings."),
    "not_found": ("the thread is not there, or not shown to the App", "Look whether it was deleted or moved."),
    "archived": ("the repository is archived", "Unarchive it, then ask again."),
    "blocked": ("GitHub has closed the repository", "Its owner can ask GitHub why."),
    "repository_removed": ("the App has no access to the repository", "Give its installation the repository again."),
    "app_removed": ("the App is not installed any more", "Install it again."),
    "suspended": ("the App's installation is suspended", "Its owner can unsuspend it."),
    "comment_deleted": ("the comment is gone", "Nothing is to be done about it."),
}
_PERMISSION = "permission_missing"


def not_done(kind: str, reason: str, outcome: Mapping[str, Any] | None = None) -> Failed:
    """The failure of a step one of whose intents was dropped. `reason` and `outcome` are those of its row."""
    noun = _NOUNS.get(kind, f"`{kind}`")
    known = outcome or {}
    if reason == "head_moved":
        checked, moved = str(known.get("head_sha", ""))[:7], str(known.get("moved_to", ""))[:7]
        return Failed(
            "head_moved",
            f"the head moved from `{checked}` to `{moved}` before the review was posted",
            "The review was checked against the older commit; run it again for the new one.",
        )
    if reason == "unsure":
        return Failed(
            "unsure",
            f"{noun} was sent and no answer came ({known.get('error') or 'the process ended'}); it is not sent twice",
            "Look on the other side whether it arrived.",
        )
    if reason in _ENDS:
        meaning, hint = _ENDS[reason]
        return Failed("not_done", f"{noun} was refused: {meaning} (`{reason}`)", hint)
    if reason.startswith(_PERMISSION):
        names = reason.removeprefix(_PERMISSION).removeprefix(": ")
        lacking = f" `{names}`" if names else " a permission"
        return Failed(
            "not_done",
            f"{noun} was refused: the App was not granted{lacking}",
            "Grant it in the App's settings, and accept the request where it is installed.",
        )
    return Failed("not_done", f"{noun} was refused: {reason}", "The App may lack a permission, or the thing is gone.")

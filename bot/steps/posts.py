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
    return Failed("not_done", f"{noun} was refused: {reason}", "The App may lack a permission, or the thing is gone.")

"""The kind `review`: one pull request review from a list of findings, checked against the diff at the head."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote

from bot.model.ident import compact
from bot.model.outcome import Done, Failed, Intent, Outcome, Wait
from bot.steps.diff import Diff
from bot.steps.findings import Finding, Violations, read_findings

#: comments at lines in one review; what is more goes into its body
MOST_INLINE = 100
#: findings in the body; what is more is counted there
MOST_OUTSIDE = 40
_EVENTS = {"approve": "APPROVE", "request_changes": "REQUEST_CHANGES"}


def perform_review(
    findings: Any,
    body: str,
    verdict: Any,
    *,
    diff: Diff,
    known: Collection[str],
    head_sha: str,
    allow: Collection[str] = (),
    blob_url: str = "",
) -> Outcome:
    """What is to be posted, or why nothing is.

    `findings` is the step's resolved list, `diff` that of the pull request at `head_sha`, `known` the fingerprints that
    earlier reviews of ours carry. `verdict` counts only where `allow` names it, else the review is a comment.
    `blob_url` is where people read a file at the head (`https://…/blob/<sha>`), for links. The review is dropped, and
    the step fails with `head_moved`, where the head is another one when it is sent.
    """
    try:
        given = read_findings(findings)
    except Violations as error:
        return Failed("review_findings", str(error), "Give a list of `{path, line, body}`; see `review` in the guide.")
    event = _EVENTS.get(verdict, "COMMENT") if isinstance(verdict, str) and verdict in allow else "COMMENT"
    told = set(known)
    new = [one for one in dict.fromkeys(given) if one.fingerprint not in told]
    counts = {"known": len(dict.fromkeys(given)) - len(new)}
    # a body that only introduces what is known already says nothing
    if event == "COMMENT" and not new and (given or not body.strip()):
        return Done(output=_nothing(counts["known"]), result=_result({}, event, head_sha, counts))
    inline, outside = _placed(new, diff)
    left_out = len(outside) - MOST_OUTSIDE
    outside = outside[:MOST_OUTSIDE]
    counts |= {"inline": len(inline), "outside": len(outside), "left_out": max(left_out, 0)}
    payload = {
        "head_sha": head_sha,
        "event": event,
        "body": _body(body, counts),
        "comments": [_comment(one) for one in inline],
        "outside": [_outside(one, blob_url) for one in outside],
    }
    kept = compact({"event": event, "head_sha": head_sha, "counts": counts}).encode()
    return Wait("posts", kept=kept, intents=(Intent("review", payload),))


def review_result(outcome: Mapping[str, Any], kept: bytes) -> Done:
    """The step's end once the review is posted. `outcome` is what its row says GitHub made of it."""
    asked = json.loads(kept)
    counts = asked["counts"]
    said = [_many(counts["inline"], "comment")]
    if counts["outside"]:
        said.append(f"{counts['outside']} outside the diff")
    if counts["left_out"]:
        said.append(f"{counts['left_out']} left out")
    if counts["known"]:
        said.append(f"{counts['known']} known before")
    word = {"APPROVE": "Approved", "REQUEST_CHANGES": "Changes requested"}.get(asked["event"], "Reviewed")
    head = f"[{word}]({outcome['url']})" if outcome.get("url") else word
    return Done(
        output=f"{head} at {asked['head_sha'][:7]}: {', '.join(said)}.",
        result=_result(outcome, asked["event"], asked["head_sha"], counts),
    )


def _placed(findings: list[Finding], diff: Diff) -> tuple[list[Finding], list[Finding]]:
    """Those that a line of the diff can carry, and the others."""
    inline: list[Finding] = []
    outside: list[Finding] = []
    for one in findings:
        fits = one.line is not None and diff.carries(one.path, one.side, one.line, one.start_line)
        (inline if fits and len(inline) < MOST_INLINE else outside).append(one)
    return inline, outside


def _body(body: str, counts: Mapping[str, int]) -> str:
    """Never empty: GitHub takes no review without a body unless it approves."""
    new = counts["inline"] + counts["outside"] + counts["left_out"]
    text = body.strip() or (f"{_many(new, 'finding')}." if new else "No findings.")
    return f"{text}\n\n{counts['left_out']} more are left out." if counts["left_out"] else text


def _comment(one: Finding) -> dict[str, Any]:
    comment: dict[str, Any] = {"path": one.path, "line": one.line, "side": one.side, "body": one.body}
    if one.start_line is not None:
        comment["start_line"] = one.start_line
    if one.suggestion is not None:
        comment["suggestion"] = one.suggestion
    return comment | {"fingerprint": one.fingerprint}


def _outside(one: Finding, blob_url: str) -> dict[str, Any]:
    item: dict[str, Any] = {"path": one.path, "body": one.body, "fingerprint": one.fingerprint}
    if one.line is not None:
        item["line"] = one.line
    # what was removed stands in no file of the head
    if blob_url and one.side == "RIGHT" and ".." not in one.path.split("/"):
        last = f"-L{one.line}" if one.start_line else ""
        anchor = f"#L{one.start_line or one.line}{last}" if one.line else ""
        item["url"] = f"{blob_url}/{quote(one.path)}{anchor}"
    if one.suggestion is not None:
        item["suggestion"] = one.suggestion
    return item


def _nothing(known: int) -> str:
    if known:
        return f"Nothing new: {_many(known, 'finding')} known before."
    return "Nothing to say: no findings."


def _result(outcome: Mapping[str, Any], event: str, head_sha: str, counts: Mapping[str, int]) -> dict[str, Any]:
    return {
        "id": outcome.get("id"),
        "url": outcome.get("url"),
        "event": event,
        "head_sha": head_sha,
        "comments": list(outcome.get("comments", ())),
        **{key: counts.get(key, 0) for key in ("inline", "outside", "known", "left_out")},
    }


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

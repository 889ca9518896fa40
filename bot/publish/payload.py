"""An intent's payload as it may leave: every text that people read through the policy, every string redacted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.model.fence import fence
from bot.model.ident import compact
from bot.publish.body import inline_code
from bot.publish.clean import whole
from bot.publish.compose import Draft, compose
from bot.publish.markdown import TooComplex
from bot.publish.policy import Policy, Sink
from bot.publish.redact import Redactor, redacted
from bot.publish.split import CHARACTERS, closing

#: Source: https://docs.github.com/en/rest/pulls/pulls (titles are cut by nobody else; longer ones are refused)
_TITLE = 256
#: Source: https://docs.github.com/en/rest/checks/runs#create-a-check-run
_ANNOTATION_TITLE, _ANNOTATION = 255, 16_000
#: what one finding outside the diff takes of the hidden line that names them
_FINGERPRINT = 40
OUTSIDE = "### Outside the diff"


@dataclass(frozen=True, slots=True)
class Payload:
    """What `compose` is for comments: `text` is the payload as JSON; composed it is the row's body."""

    kind: str
    text: str
    mentions: tuple[str, ...] = ()
    every_mention: bool = False
    closes: tuple[str, ...] = ()
    rest: str = ""

    @property
    def size(self) -> int:
        """How much there is to read."""
        return len(self.text)

    def composed(self, redactor: Redactor) -> tuple[str, ...]:
        """The payload as compact JSON, one part."""
        payload: dict[str, Any] = json.loads(self.text)
        match self.kind:
            case "review":
                payload = self._review(payload, redactor)
            case "pull_request":
                payload = self._pull_request(payload, redactor)
            case "check":
                payload = self._check(payload, redactor)
            case _:
                payload = redacted(payload, redactor)
        return (compact(payload),)

    def _review(self, payload: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
        """The findings outside the diff become a part of the body, a suggestion a fence below its comment."""
        comments = []
        for one in payload.get("comments", ()):
            kept = {key: value for key, value in one.items() if key != "suggestion"}
            comments.append({**kept, "body": self._markdown(_with_suggestion(one), redactor)})
        outside = payload.get("outside", ())
        pieces = [str(payload.get("body") or "").strip()]
        if outside:
            pieces[0] = closed(pieces[0])
            pieces += [OUTSIDE, *(_outside(one) for one in outside)]
        return {
            "head_sha": payload["head_sha"],
            "event": payload["event"],
            "body": self._markdown(
                "\n\n".join(piece for piece in pieces if piece), redactor, _FINGERPRINT * len(outside)
            ),
            "comments": comments,
            "outside": [one["fingerprint"] for one in outside],
        }

    def _pull_request(self, payload: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
        policy = Policy(redactor, mentions=self.mentions, every_mention=self.every_mention, closes=self.closes)
        title = policy.apply(str(payload["title"]), Sink.TITLE)
        body = self._markdown(closed(str(payload.get("body") or "").strip()), redactor)
        if issue := payload.get("closes"):
            # behind the cut of a long body
            body = f"{body}\n\nCloses #{int(issue)}".strip()
        return {
            # the names of branches are what they are: only a secret is taken out, and then there is no such branch
            "head": redactor(str(payload["head"])),
            "base": redactor(str(payload["base"])),
            "title": _shortened(title, _TITLE),
            "body": body,
            "draft": payload.get("draft") is True,
        }

    def _check(self, payload: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
        """A check's summary is Markdown; its title and what its annotations say are plain text."""
        policy = Policy(redactor)

        def title(text: object, most: int) -> str:
            return _shortened(policy.apply(str(text), Sink.TITLE), most)

        annotations = [
            {
                **{key: one[key] for key in ("path", "start_line", "end_line", "level") if key in one},
                "title": title(one.get("title") or "", _ANNOTATION_TITLE),
                "message": _shortened(policy.apply(str(one["message"]), Sink.ANNOTATION), _ANNOTATION),
            }
            for one in payload.get("annotations") or ()
        ]
        kept = {key: payload[key] for key in ("name", "head_sha", "status", "conclusion", "url") if key in payload}
        return {
            **redacted(kept, redactor),
            "title": title(payload["title"], _TITLE),
            "summary": self._markdown(str(payload["summary"]), redactor),
            "annotations": annotations,
        }

    def _markdown(self, text: str, redactor: Redactor, reserve: int = 0) -> str:
        """One body of at most GitHub's length; what is longer ends with `rest`."""
        parts = compose(
            Draft(
                text,
                mentions=self.mentions,
                every_mention=self.every_mention,
                max_parts=1,
                rest=self.rest,
                closes=self.closes,
                reserve=min(reserve, CHARACTERS // 2),
            ),
            redactor,
        )
        return parts[0] if parts else ""


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: whole(text, most - 1)].rstrip()}…"


def _with_suggestion(one: Mapping[str, Any]) -> str:
    body = str(one["body"]).strip()
    if (suggestion := one.get("suggestion")) is None:
        return body
    # one that is cut would be taken all the same
    language = "suggestion" if len(body) + len(str(suggestion)) < CHARACTERS // 2 else ""
    return f"{closed(body)}\n\n{suggested(str(suggestion), language)}"


def suggested(code: str, language: str) -> str:
    """Code in a fence, line by line as it is: no text at all is no line, which suggests to remove them."""
    code = code.replace("\r\n", "\n")
    lines = code.removesuffix("\n")
    shell = fence(lines.replace("\n", " "), language).split("\n")
    return "\n".join([shell[0], *([lines] if code else []), shell[-1]])


def _outside(one: Mapping[str, Any]) -> str:
    """A finding that no line of the diff can carry: where it is, with a link, and what it says."""
    place = f"{one['path']}:{one['line']}" if one.get("line") else str(one["path"])
    head = f"[{inline_code(place)}]({one['url']})" if one.get("url") else inline_code(place)
    body = str(one["body"]).strip()
    text = f"**{head}**\n\n{closed(body)}"
    suggestion = one.get("suggestion")
    return text if suggestion is None else f"{text}\n\n{suggested(str(suggestion), '')}"


def closed(text: str) -> str:
    """`text` with what it left open closed, so that what follows stands by itself."""
    try:
        return text + closing(text)
    except (TooComplex, RecursionError):
        return fence(text)

"""The output policy: the one function through which everything passes that the bot writes anywhere.

Secrets are redacted; mentions, closing keywords and commands to other bots say and do not act; images of other hosts
are links; nothing is hidden; ANSI, controls and lone surrogates are gone. Code stays as it was, and so do accents, CJK
and emoji. The result is a fixed point: applied again, nothing changes. It is checked with the Markdown
parser itself, and a text that cannot be made harmless in place, or not within a bounded effort, is shown in a fence,
where nothing acts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import StrEnum

from bot.model.fence import fence
from bot.publish import inert, proof, tags
from bot.publish.clean import clean
from bot.publish.inert import Allowed
from bot.publish.markdown import Effort, TooComplex, read
from bot.publish.redact import PLACEHOLDER, Redactor
from bot.publish.view import Edit, View, look

#: hosts whose images show nothing to anyone else; camo, which fetches from everywhere, is not one
GITHUB_HOSTS = frozenset(
    {
        "github.com",
        "user-images.githubusercontent.com",
        "private-user-images.githubusercontent.com",
        "raw.githubusercontent.com",
        "avatars.githubusercontent.com",
        "github.githubassets.com",
    }
)
#: an edit can uncover another (a comment inside a comment); nobody who means well needs more rounds
_ROUNDS = 12
#: Source: https://git-scm.com/docs/git-check-ref-format
_NOT_IN_REF = re.compile(r"[^A-Za-z0-9._/-]+|\.\.+|@\{")


class Sink(StrEnum):
    """Where a text goes."""

    COMMENT = "comment"
    REVIEW = "review"
    BODY = "body"  # of an issue or pull request
    CHECK = "check"  # a check's summary
    TITLE = "title"
    COMMIT = "commit"
    ANNOTATION = "annotation"  # what a check says of a line
    BRANCH = "branch"
    ERROR = "error"  # shown in a fence, on a page, in JSON, in a log


class Policy:
    """What may be written. Made per repository: `secrets` are all values known to the engine that could leak there.

    `mentions` are logins (and `org/team`) that may be reached, `every_mention` lifts that; `closes` are references
    (`#12`, `owner/repo#12`, an issue's URL) that a closing keyword may stand before; `image_hosts` show images.
    """

    def __init__(
        self,
        secrets: Iterable[str] | Redactor = (),
        *,
        mentions: Iterable[str] = (),
        every_mention: bool = False,
        closes: Iterable[str] = (),
        image_hosts: Iterable[str] = GITHUB_HOSTS,
    ) -> None:
        self.redact = secrets if isinstance(secrets, Redactor) else Redactor(secrets)
        self._allowed = Allowed(
            frozenset(name.lower().removeprefix("@") for name in mentions),
            every_mention,
            frozenset(reference.lower() for reference in closes),
        )
        self._hosts = frozenset(image_hosts)

    def apply(self, text: str, sink: Sink) -> str:
        """`text` as it may be written to `sink`. Total: any string has an answer; idempotent."""
        text = self.redact(clean(text))
        match sink:
            case Sink.COMMENT | Sink.REVIEW | Sink.BODY | Sink.CHECK:
                return self._markdown(text)
            case Sink.TITLE:
                return inert.plain(" ".join(text.split()), self._allowed)
            case Sink.COMMIT | Sink.ANNOTATION:
                return inert.plain(text, self._allowed)
            case Sink.BRANCH:
                return _ref(text)
            case Sink.ERROR:
                return text

    def _markdown(self, text: str) -> str:
        effort = Effort.of(text)
        with suppress(RecursionError, TooComplex):  # nested deeper than Python's stack, or built to be slow
            for trusting in (True, False):
                settled = self._settle(text, trusting, effort)
                # what was settled without trust has to stand when it is read with trust: the result is a fixed point
                if settled is not None and (trusting or self._settle(settled, True, effort) == settled):
                    return settled
        return fence(text)

    def _settle(self, text: str, trusting: bool, effort: Effort) -> str | None:
        """Edit until nothing changes; None where that does not come to an end, or something still acts."""
        for _ in range(_ROUNDS):
            page = read(text, effort)
            edits: list[Edit] = [Edit(*place) for place in page.unseen]
            views = [look(page, region, self._own, trusting=trusting) for region in page.regions]
            edits += self._secrets(views)
            for view in views:
                edits += view.edits
                edits += inert.words(view, text, self._allowed, trusting=trusting)
            changed = self.redact(clean(_edited(text, edits)))
            if changed == text:
                return None if proof.live(page, self._allowed, self._own) else text
            text = changed
        return None

    def _secrets(self, views: Iterable[View]) -> Iterator[Edit]:
        """Secrets that are read as such only with escapes and entities decoded."""
        views = [view for view in views if len(view.characters) != view.region.end - view.region.start]
        everything = "\n".join(view.text for view in views)
        if self.redact(everything) == everything:
            return
        for view in views:
            for start, end in self.redact.spans(view.text):
                if PLACEHOLDER not in view.text[start:end]:
                    yield Edit(*view.place(start, end), PLACEHOLDER)

    def _own(self, address: str) -> bool:
        return tags.own(address, self._hosts)


def _edited(text: str, edits: list[Edit]) -> str:
    """`text` with the edits done; of two that overlap the first, the other comes in the next round."""
    pieces: list[str] = []
    position = 0
    for start, end, replacement in sorted(edits):
        if start < position:
            continue
        pieces += text[position:start], replacement
        position = end
    return "".join([*pieces, text[position:]])


def _ref(text: str) -> str:
    """A branch name that git accepts, as near to `text` as can be."""
    parts = (part.strip(".-").removesuffix(".lock") for part in _NOT_IN_REF.sub("-", text).split("/"))
    return "/".join(part for part in parts if part)[:200].strip("/.-") or "branch"

"""The hidden signed line in a posted comment: it says which slot the comment fills, and nobody else can write it.

One line, an HTML comment, the last of the body:

    <!-- threadsmith slot=<slot> digest=<32 hex> signature=<32 hex> -->

The signature is an HMAC-SHA-256 (its first 128 bits) over repository id, thread, slot and digest, so a copy in another
thread verifies nowhere, and an edit of the visible text changes only `Mark.intact`. GitHub turns line ends into CRLF;
that is undone before anything is compared. Whether the comment's author is us is for the caller to check: a marker
copied within its own thread verifies.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

from bot.model.ident import digest
from bot.model.slot import Slot

_NAME = "threadsmith"
_LINE = re.compile(
    rf"^<!-- {_NAME} slot=(?P<slot>[^\s<>-]+) digest=(?P<digest>[0-9a-f]{{32}}) signature=(?P<signature>[0-9a-f]{{32}})"
    r" -->[ \t]*$",
    re.MULTILINE,
)

#: room that a marker takes at most, with the blank line before it (slots are bounded by the validator's name lengths)
ROOM = 1_000


@dataclass(frozen=True, slots=True)
class Mark:
    """A marker that verified. `intact`: the visible text is still the one that was signed."""

    slot: Slot
    digest: str
    intact: bool


class Marker:
    """Signs and recognises bodies. The first key signs, all of them verify, so that a key can be rotated."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or not all(keys):
            raise ValueError("a marker needs at least one key, and no empty one")
        self._keys = tuple(keys)

    def sign(self, body: str, *, repository_id: int, thread: int | str, slot: Slot) -> str:
        """`body` with its marker line at the end; a marker that stands there already is replaced."""
        text = strip(body)
        shown = shown_digest(text)
        signature = _signature(self._keys[0], repository_id, thread, str(slot), shown)
        return f"{text}\n\n<!-- {_NAME} slot={_encode(slot)} digest={shown} signature={signature} -->"

    def find(self, body: str, *, repository_id: int, thread: int | str) -> Mark | None:
        """The last marker in `body` that verifies for this thread, None where there is none."""
        text = _lines(body)
        for match in reversed(list(_LINE.finditer(text))):
            name = unquote(match["slot"])
            if not self._verifies(match["signature"], repository_id, thread, name, match["digest"]):
                continue
            visible = text[: match.start()] + text[match.end() :]
            return Mark(Slot.parse(name), match["digest"], hmac.compare_digest(shown_digest(visible), match["digest"]))
        return None

    def seal(self, text: str, *, repository_id: int, thread: int | str) -> str:
        """A signature of `text`, good for this thread only."""
        return _signature(self._keys[0], repository_id, thread, "", text)

    def sealed(self, text: str, signature: str, *, repository_id: int, thread: int | str) -> bool:
        """Whether a signature is ours, of `text` and for this thread."""
        return self._verifies(signature, repository_id, thread, "", text)

    def _verifies(self, signature: str, repository_id: int, thread: int | str, slot: str, shown: str) -> bool:
        return any(
            hmac.compare_digest(_signature(key, repository_id, thread, slot, shown), signature) for key in self._keys
        )


def strip(body: str) -> str:
    """`body` without a marker line at its end, line ends made LF; what people see."""
    text = _lines(body).rstrip()
    start = text.rfind("\n") + 1
    return text[:start].rstrip() if _LINE.match(text, start) else text


def _signature(key: bytes, repository_id: int, thread: int | str, slot: str, shown: str) -> str:
    subject = digest("marker", repository_id, str(thread), slot, shown)
    return hmac.new(key, subject.encode(), hashlib.sha256).hexdigest()[:32]


def shown_digest(text: str) -> str:
    """Digest of the visible text; spaces at line ends and around it do not count."""
    return digest("\n".join(line.rstrip() for line in _lines(text).strip().split("\n")))[:32]


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _encode(slot: Slot) -> str:
    """The slot without anything that could end an HTML comment."""
    return quote(str(slot), safe="/|.:", errors="surrogatepass").replace("-", "%2D")

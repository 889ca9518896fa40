"""Secrets out of text: known values in every form they travel in, and tokens known by their shape."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from threading import Lock
from typing import Any
from urllib.parse import quote, quote_plus

from bot.publish.remnants import remnants

PLACEHOLDER = "[redacted]"
#: shorter values are words, not secrets: replacing them would eat ordinary text and say what they are
SHORTEST = 5
#: a piece of a longer value (a line of a key, the aligned middle of a base64 form) has to be this long to stand alone
_SHORTEST_PIECE = 12
#: a form has to be this long to be looked for across line breaks
_SHORTEST_WRAPPED = 16
#: the end of a line, also as JSON writes it, with what indents or quotes the next one
_BREAK = r"(?:(?:\\+r|\r)?(?:\\+n|\n)[ \t>]*|\r)?"
_BREAKS = re.compile(r"(?:(?<!\\)\\++[rn]|[\r\n])[ \t>]*")

#: token shapes. Sources: GitHub "About authentication to GitHub" (token prefixes), AWS "IAM identifiers", RFC 7519,
#: RFC 7468, the providers' own key prefixes
_SHAPES = re.compile(
    r"""
    -----BEGIN[ ][A-Z0-9 ]{0,40}PRIVATE[ ]KEY-----
        (?: (?:[^-]|-(?!----)){0,20000} (?:-----END[ ][A-Z0-9 ]{0,40}PRIVATE[ ]KEY-----)? )
    | \bgh[opsur]_[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,2000}[A-Za-z0-9_])?(?<=[A-Za-z0-9_.-]{16})
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bglpat-[A-Za-z0-9_-]{16,}
    | (?<![A-Za-z0-9_-])sk-(?=[A-Za-z0-9_-]{0,200}[0-9])[A-Za-z0-9_-]{19,}[A-Za-z0-9_]
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}
    | \bAIza[A-Za-z0-9_-]{35}
    | \bnpm_[A-Za-z0-9]{30,}
    | \bpypi-[A-Za-z0-9_-]{50,}
    | (?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])
    | \beyJ[A-Za-z0-9_-]{5,2000}+\.eyJ[A-Za-z0-9_-]{3,}\.[A-Za-z0-9_-]*
    | (?<=://)(?P<user>[^\s/:@\[]{0,200}):[^\s/@\[]{1,500}(?=@)
    | (?P<header>\b[Aa]uthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:[Bb]earer|[Bb]asic|[Tt]oken)\s{1,3})[^\s"'\[]{8,}
    """,
    re.VERBOSE,
)


class Redactor:
    """`Redactor(secrets)(text)`: `text` without the secrets. Idempotent, safe to call from any thread.

    A known value is found raw, base64 (both alphabets, at any offset inside a larger value), percent-encoded, hex,
    JSON-escaped and HTML-escaped, whatever the case, also where an encoder broke the lines of it; of a value with
    several lines each long line alone. Beside the mark of a cut (`bot.model.cut`) what is left of one goes too.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._turn = Lock()
        self._known: set[str] = set()
        #: longest first, so that no form leaves the tail of a longer one
        self._forms: tuple[str, ...] = ()
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Know these from now on. A secret that is read at run time is added before anybody gets it."""
        with self._turn:
            new = set(secrets) - self._known
            if not new:
                return
            self._known |= new
            forms = {form.lower() for secret in new for form in _forms(secret)} | set(self._forms)
            # replaced whole: who is redacting now goes on with the old ones
            self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    def __call__(self, text: str) -> str:
        """`text` with each secret replaced by `PLACEHOLDER`."""
        for _ in range(8):
            before = text
            known = self._present(text)
            if known is not None:
                # what is redacted already is passed over, so that a secret that is part of the word cannot nest
                text = PLACEHOLDER.join(known.sub(PLACEHOLDER, piece) for piece in text.split(PLACEHOLDER))
            text = _SHAPES.sub(_keep_frame, text)
            for start, end in reversed(remnants(text, self._forms, _BREAKS, SHORTEST)):
                if not text.endswith(PLACEHOLDER, 0, end) and not text.startswith(PLACEHOLDER, start):
                    text = text[:start] + PLACEHOLDER + text[end:]
            if text == before:
                break
        return text

    def stream(self) -> RedactedStream:
        """For text that comes in chunks: a secret that lies across a border is found too."""
        # room for the breaks of lines of 20 characters, indented
        return RedactedStream(self, max(len(self._forms[0]) * 2 if self._forms else 0, 4_096))

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the secrets are."""
        patterns = [_SHAPES, known] if (known := self._present(text)) else [_SHAPES]
        return sorted(match.span() for pattern in patterns for match in pattern.finditer(text))

    def _present(self, text: str) -> re.Pattern[str] | None:
        # looking for each form alone is a hundred times faster than one alternation of all
        lower = text.lower()
        found = [re.escape(form) for form in self._forms if form in lower]
        flat = _BREAKS.sub("", lower)
        if len(flat) < len(lower):
            # what encodes breaks its lines, wherever the secret stands in them
            wrapped = (form for form in self._forms if len(form) >= _SHORTEST_WRAPPED and form not in lower)
            found = [_BREAK.join(map(re.escape, form)) for form in wrapped if form in flat] + found
        return re.compile("|".join(found), re.IGNORECASE) if found else None


class RedactedStream:
    """Holds back the last `hold` characters of what came, so that what is shown cannot be the beginning of a secret."""

    #: a match longer than this is let go in pieces (redacted ones), so that memory stays flat
    _MOST = 262_144

    def __init__(self, redact: Redactor, hold: int) -> None:
        self._redact = redact
        self._hold = hold
        self._kept = ""

    def feed(self, chunk: str) -> str:
        """What may be shown now; may be empty."""
        self._kept += chunk
        cut = len(self._kept) - self._hold
        if cut <= 0:
            return ""
        if len(self._kept) < self._MOST:
            for start, end in self._redact.spans(self._kept):
                if start < cut < end:
                    cut = start
        shown, self._kept = self._redact(self._kept[:cut]), self._kept[cut:]
        return shown

    def close(self) -> str:
        """The rest."""
        rest, self._kept = self._redact(self._kept), ""
        return rest


def redacted(value: Any, redactor: Redactor) -> Any:
    """JSON without secrets, in keys neither; a number that is one becomes text."""
    match value:
        case str():
            return redactor(value)
        case dict():
            return {redactor(str(key)): redacted(item, redactor) for key, item in value.items()}
        case list() | tuple():
            return [redacted(item, redactor) for item in value]
        case int() | float() if not isinstance(value, bool):
            text = json.dumps(value)
            return value if redactor(text) == text else redactor(text)
        case _:
            return value


def _keep_frame(match: re.Match[str]) -> str:
    """Replace the secret alone where the shape has words around it that help the reader."""
    if match["user"] is not None:
        return f"{match['user']}:{PLACEHOLDER}"
    if match["header"] is not None:
        return f"{match['header']}{PLACEHOLDER}"
    return PLACEHOLDER


def _forms(secret: str) -> set[str]:
    value = secret.strip()
    if len(value) < SHORTEST:
        return set()
    forms = {secret, value}
    forms |= {line.strip() for line in value.splitlines() if len(line.strip()) >= _SHORTEST_PIECE}
    for one in tuple(forms):
        raw = one.encode("utf-8", "surrogatepass")
        forms |= {quote(raw, safe=""), quote(raw), quote_plus(raw), raw.hex(), html.escape(one)}
        forms |= {json.dumps(one, ensure_ascii=flag)[1:-1] for flag in (True, False)}
        forms |= {json.dumps(json.dumps(one, ensure_ascii=flag), ensure_ascii=flag)[3:-3] for flag in (True, False)}
        # as PHP writes JSON
        forms |= {json.dumps(one).replace("/", "\\/")[1:-1]}
        forms |= _base64(raw)
    return {form for form in forms if len(form) >= SHORTEST}


def _base64(raw: bytes) -> set[str]:
    """The characters of base64 that depend on `raw` alone, for each of the three offsets it may start at."""
    forms: set[str] = set()
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + raw).decode()
        start = (0, 2, 3)[offset]
        # the last group mixes with what follows, unless it is full
        spill = (offset + len(raw)) % 3
        core = encoded[start : len(encoded) - (0, 3, 2)[spill]]
        if len(core) >= 8:
            forms |= {core, core.replace("+", "-").replace("/", "_")}
    whole = base64.b64encode(raw).decode()
    return forms | {whole, whole.rstrip("="), base64.urlsafe_b64encode(raw).decode().rstrip("=")}

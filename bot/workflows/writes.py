"""`writes`: keys of the run context out of what a step said, by the cascade of the design's page, and nothing looser.

(1) the whole text as a JSON object; (2) the first fenced block that is one; (3) the first balanced span that is one,
outside arrays and strings; (4) with exactly one declared key and no object anywhere, the raw text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from bot.model.ident import compact
from bot.workflows.fences import blocks
from bot.workflows.findings import listing

#: bytes of raw text that one key gets
RAW_MAX = 8 * 1024
#: characters of all spans that are tried; more is not an answer but a puzzle
_WORK_MAX = 16 * 1024 * 1024

#: strings of JSON do not go over the end of a line; so a stray quote in prose spoils its own line only
_MARK = re.compile(r'"(?:[^"\\\n]|\\.)*"|[\[\]{}]')


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found. With `error` the step fails (`writes_error`); `warning` is kept as `writes_warning`."""

    values: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    warning: str = ""


def extract(text: str, keys: Sequence[str]) -> Extraction:
    """The declared keys out of an agent's answer or a command's output. Strings stay, all else is compact JSON."""
    found = find_object(text)
    if found is not None:
        return pick(found, keys)
    if len(keys) == 1:
        raw, left_out = _cut(text)
        cut = f", of which {left_out:,} bytes were left out" if left_out else ""
        return Extraction({keys[0]: raw}, warning=f"there is no JSON object; `{keys[0]}` got the whole text{cut}")
    return Extraction(error=f"there is no JSON object to take {listing(keys)} from")


def pick(found: Mapping[str, Any], keys: Sequence[str]) -> Extraction:
    """The declared keys out of an object: of an answer, of a function's return value, or a form's answers."""
    lacking = [key for key in keys if key not in found]
    if lacking:
        return Extraction(error=f"the object has no {listing(lacking)}")
    values = {key: found[key] if isinstance(found[key], str) else compact(found[key]) for key in keys}
    extra = [key for key in found if key not in values]
    more = f" and {len(extra) - 10} more" if len(extra) > 10 else ""
    warning = f"left out, because `writes` does not name them: {listing(key[:60] for key in extra[:10])}{more}"
    return Extraction(values, warning=warning if extra else "")


def find_object(text: str) -> dict[str, Any] | None:
    """The JSON object in a text, by the first three steps of the cascade; None without one."""
    whole = _parse(text)
    if whole is not None:
        return whole
    for block in blocks(text):
        inner = _parse(block.text)
        if inner is not None:
            return inner
    work = 0
    for start, end in _spans(text):
        work += end - start
        if work > _WORK_MAX:
            return None
        try:
            value, stopped = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if stopped == end and isinstance(value, dict):
            return value
    return None


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Balanced `{…}` outside strings and outside balanced `[…]`, by where they begin. One pass over the text."""
    opened: list[tuple[str, int]] = []
    counts = {"{": 0, "[": 0}
    spans: list[tuple[int, int, str]] = []
    for match in _MARK.finditer(text):
        sign = match.group()
        if sign in ("{", "["):
            opened.append((sign, match.start()))
            counts[sign] += 1
        elif sign in ("}", "]"):
            wanted = "{" if sign == "}" else "["
            if not counts[wanted]:
                continue
            while True:
                # what was opened since then and not closed is only a character
                kind, start = opened.pop()
                counts[kind] -= 1
                if kind == wanted:
                    break
            spans.append((start, match.end(), kind))
    spans.sort()
    skip_to = 0
    for start, end, kind in spans:
        if start < skip_to:
            continue
        if kind == "[":
            skip_to = end
        else:
            yield start, end


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _parse(text: str) -> dict[str, Any] | None:
    stripped = text.strip()
    if not stripped.startswith("{"):
        return None
    try:
        value = _DECODER.decode(stripped)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _cut(text: str) -> tuple[str, int]:
    raw = text.encode("utf-8", "replace")
    if len(raw) <= RAW_MAX:
        return text, 0
    head = raw[:RAW_MAX].decode("utf-8", "ignore")
    left_out = len(raw) - len(head.encode("utf-8"))
    return f"{head}\n[… {left_out} bytes left out]", left_out

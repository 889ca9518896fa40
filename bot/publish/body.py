"""What comments look like: short, the answer first, machinery folded away, the same shapes everywhere.

Each function gives Markdown that passes the policy unchanged where what it was given does. Texts from people and
programs are fenced or escaped here; `message`, `hint` and `note` are ours and may hold inline Markdown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from bot.finding import Finding
from bot.model.fence import fence
from bot.model.ident import compact
from bot.publish.footer import Footer
from bot.publish.split import closing

#: a result is shown as `key: value` pieces while it stays short, else as JSON in a fence
_PIECE, _PIECES = 60, 6
#: what a sentence ends with
_ENDS = (".", "!", "?", "…", ":")
#: how much of a program's last words a failure shows
_DETAIL_LINES, _DETAIL_CHARACTERS = 30, 4_000


def result_body(text: str, *, result: Any = None, fenced: bool = False, footer: Footer | str | None = None) -> str:
    """An answer: the text (`fenced`: as it is), the result folded, the footer. What the text left open is closed."""
    shown = fence(text) if fenced else text.strip() + closing(text.strip())
    return stack(shown if text.strip() else "", _folded(result), footer)


def failure_body(
    *,
    name: str,
    code: str,
    message: str,
    note: str = "",
    detail: str = "",
    hint: str = "",
    footer: Footer | None = None,
) -> str:
    """A failure that the reader can act on: what was asked, why (the code first), its last words, what to do."""
    head = f"**{inline_code(name)} failed: {inline_code(code)} {one_line(message)}**"
    ended = head if one_line(message).endswith(_ENDS) else f"{head}."
    return stack(f"{head} ({one_line(note)})." if note else ended, _last_words(detail), hint, footer)


def stopped_body(*, name: str, by: str = "", words: str = "", footer: Footer | None = None) -> str:
    """The end of a run to which somebody said no (`by` empty: nobody answered, which is taken for one)."""
    why = f"{_person(by)} said no" if by else "nobody answered in time, which is taken for a no"
    quoted = "\n".join(f"> {line}".rstrip() for line in words.strip().splitlines())
    return stack(f"**{inline_code(name)} was stopped: {why}.**", f"{quoted}{closing(quoted)}", footer)


def cancelled_body(*, run: int, workflow: str, by: str = "", why: str = "", footer: Footer | None = None) -> str:
    """The end of a run that was cancelled: by whom, and why where that is not plain."""
    who = f" by {_person(by)}" if by else ""
    return stack(f"r{run} {inline_code(workflow)} was cancelled{who}.", why, footer)


def configuration_body(
    findings: Sequence[Finding], *, commit: str = "", link: Callable[[str, int], str] | None = None
) -> str:
    """A configuration that cannot be used, or has warnings: each finding with place, code, what is wrong, what to do.

    `link` gives the address of a file's line.
    """
    files = sorted({finding.file for finding in findings})
    table = findings_table(findings, link=link)
    named = inline_code(files[0]) if len(files) == 1 else "The configuration"
    at = f" at {commit[:7]}" if commit else ""
    tip = "<sub>`threadsmith validate` finds the same on your machine</sub>" if table else ""
    warned = bool(findings) and all(finding.severity == "warning" for finding in findings)
    return stack(f"**{named}{at} {'has warnings' if warned else 'cannot be used'}**", table, tip)


def findings_table(findings: Sequence[Finding], *, link: Callable[[str, int], str] | None = None) -> str:
    """Findings by place; the file stands with each where there are several. Empty where there is none."""
    files = {finding.file for finding in findings}
    rows = []
    for finding in sorted(findings):
        spot = f"{finding.line}:{finding.column}"
        place = f"[{spot}]({link(finding.file, finding.line)})" if link else spot
        place = f"{place} {inline_code(finding.code)}"
        where = place if len(files) == 1 else f"{inline_code(finding.file)} {place}"
        rows.append(f"| {_cell(where)} | {_cell(finding.message)} | {_cell(finding.hint)} |")
    return "\n".join(["| where | what | hint |", "|---|---|---|", *rows]) if rows else ""


def note_body(text: str, *, footer: Footer | None = None) -> str:
    """A plain reply of the bot's own."""
    return stack(text.strip() + closing(text.strip()), footer)


def inline_code(text: str) -> str:
    """`text` as inline code on one line, whatever backticks are in it."""
    line = " ".join(text.split())
    ticks = "`"
    while ticks in re.findall(r"`+", line):
        ticks += "`"
    pad = " " if not line or line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def stack(*pieces: object) -> str:
    """The pieces that are there, a blank line between them."""
    return "\n\n".join(text for piece in pieces if piece is not None and (text := str(piece)))


def _folded(result: Any) -> str:
    if result is None:
        return ""
    return f"<details><summary>Result</summary>\n\n{_pieces(result) or _json(result)}\n\n</details>"


def _pieces(result: Any) -> str:
    if not isinstance(result, dict) or not 0 < len(result) <= _PIECES:
        return ""
    pieces = [f"{key}: {value if _simple(value) else compact(value)}" for key, value in result.items()]
    return "" if any(len(piece) > _PIECE for piece in pieces) else " · ".join(map(inline_code, pieces))


def _simple(value: Any) -> bool:
    """Whether a string is read the same without its quotes."""
    return isinstance(value, str) and bool(re.fullmatch(r"[^\s\"`][^\n\"`]*", value)) and value == value.strip()


def _json(result: Any) -> str:
    return fence(json.dumps(result, ensure_ascii=False, indent=2), "json")


def _last_words(detail: str) -> str:
    lines = detail.strip("\n").rstrip().split("\n")
    kept = "\n".join(lines[-_DETAIL_LINES:])[-_DETAIL_CHARACTERS:]
    left_out = len(detail.strip("\n").rstrip()) - len(kept)
    if not kept.strip():
        return ""
    return fence(f"… {left_out:,} characters left out\n{kept}" if left_out else kept)


def one_line(text: str) -> str:
    """One line that does not end the bold it stands in."""
    return " ".join(text.replace("**", "").split())


def _person(by: str) -> str:
    """A login as code, so that nobody is called; other words as they are."""
    return inline_code(by) if re.fullmatch(r"[A-Za-z0-9_-]+", by) else one_line(by)


def _cell(text: str) -> str:
    """One line that does not end the table cell it stands in."""
    return " ".join(re.sub(r"(?<!\\)\|", r"\\|", text).split())

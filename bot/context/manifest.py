"""The manifest as people read it: the answer to "why did it not see my comment?"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from bot.context.window import NOT_ASKED
from bot.model.context import CommentRecord, InputRecord, Manifest, SteerRecord

#: rows of comments that were left out; the newest are what somebody asks about
_MOST_LEFT_OUT = 10
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&])")
_SEEN = ("included", "pinned", "thread", "request")
#: in words where the fate is none that explains itself
_FATES = {"thread": "included: the thread that was asked in"}
#: reasons in words for people; a reason that explains itself is not listed
_WHY = {
    "beyond window": "older than the window",
    "below trust": "its author has no write access",
    "command": "only a command to the bot",
    "own gate": "a question of the bot's own",
    "own result": "an answer of the bot's own",
    "own finding": "a comment of a review of the bot's own",
    "own review": "a review of the bot's own",
    "own output": "what a step printed",
}


def manifest_table(manifest: Manifest) -> str:
    """Markdown for `why`: one line that sums up, what was seen, what was not and why, inputs, sizes.

    To be posted through the output policy, as everything is.
    """
    seen = [record for record in manifest.comments if record.fate in _SEEN]
    left = [record for record in manifest.comments if record.fate not in _SEEN]
    parts = [_summary(manifest)]
    if rows := [*map(_comment, seen), *map(_input, manifest.inputs), *map(_steer, manifest.steers)]:
        parts.append(_table(rows))
    if left:
        folded = [_table(map(_comment, left[-_MOST_LEFT_OUT:]))]
        if len(left) > _MOST_LEFT_OUT:
            counts = Counter(_why(record.fate) for record in left[:-_MOST_LEFT_OUT])
            folded.append(f"Before those: {_listed(f'{count} × {why}' for why, count in counts.most_common())}.")
        body = "\n\n".join(folded)
        parts.append(f"<details><summary>{_count(len(left), 'comment')} left out</summary>\n\n{body}\n\n</details>")
    if notes := [*manifest.notes, *(f"warning: {warning}" for warning in manifest.warnings), *_removals(manifest)]:
        parts.append("\n".join(f"- {_text(note)}" for note in notes))
    parts.append(f"<sub>{_measures(manifest)}</sub>")
    return "\n\n".join(parts) + "\n"


def _table(rows: Iterable[str]) -> str:
    return "\n".join(["| what | size | fate |", "|---|---:|---|", *rows])


def _summary(manifest: Manifest) -> str:
    seen = [
        _count(manifest.comments_seen, "comment"),
        _count(manifest.pins_seen, "pin"),
        _count(len(manifest.inputs), "input"),
    ]
    text = f"Saw {_listed(seen)}; the window is {manifest.window}."
    if manifest.below_trust:
        were = "was" if manifest.below_trust == 1 else "were"
        text += f" {_count(manifest.below_trust, 'comment')} {were} left out as below trust: {_text(manifest.authors)}."
    return text


def _comment(record: CommentRecord) -> str:
    # of comments that could not be shown nobody asked whose they were
    role = "" if record.role == NOT_ASKED else f" ({_text(record.role)})"
    name = f"{_text(record.author)}{role}, {record.created_at[:16].replace('T', ' ')} UTC"
    if re.fullmatch(r"https?://[^\s()<>|]+", record.url):
        name = f"[{name}]({record.url})"
    if record.kind != "comment":
        name += f", {record.kind.replace('_', ' ')}" + (f" at {_text(record.place)}" if record.place else "")
    seen = record.fate in _SEEN
    fate = _FATES.get(record.fate, record.fate) if seen else f"left out: {_why(record.fate)}"
    return f"| {name} | {record.bytes:,} B | {_text(f'{fate} ({record.note})' if record.note else fate)} |"


def _why(fate: str) -> str:
    """A reason in words; of what the bot says by itself one word is enough."""
    return _WHY.get(fate, "a note of the bot's own" if fate.startswith("own ") else fate)


def _input(record: InputRecord) -> str:
    facts = [record.status if not record.reason else f"{record.status}: {record.reason}"]
    if record.duration_s is not None:
        facts.append(f"{record.duration_s:.1f} s")
    return f"| input {_text(record.name)} | {record.bytes:,} B | {_text(', '.join(facts))} |"


def _steer(record: SteerRecord) -> str:
    said, read = (value[:16].replace("T", " ") for value in (record.at, record.read_at))
    return f"| said by {_text(record.by)}, {said} UTC | {record.bytes:,} B | read while it worked, {read} UTC |"


def _removals(manifest: Manifest) -> list[str]:
    return [
        f"hidden in {block.label}, taken out: {', '.join(block.removed)}" for block in manifest.blocks if block.removed
    ]


def _measures(manifest: Manifest) -> str:
    facts = [
        f"about {manifest.tokens:,} tokens",
        f"{manifest.bytes:,} bytes",
        f"{_count(len(manifest.blocks), 'block')}",
        f"{_count(manifest.reads, 'read')} of the thread",
    ]
    if manifest.fidelity:
        reason = f" ({_text(manifest.fidelity_reason)})" if manifest.fidelity_reason else ""
        facts.append(f"fidelity {_text(manifest.fidelity)}{reason}")
    return " · ".join([*facts, f"digest {manifest.digest[:12]}"])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(items: Iterable[str]) -> str:
    *first, last = items
    return f"{', '.join(first)} and {last}" if first else last


def _text(text: str) -> str:
    """Any words as they are, on one line of a table."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))

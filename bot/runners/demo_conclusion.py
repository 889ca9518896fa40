"""What the demo model concludes from a prompt, by rule: what fails, what binds, whichever has more of the question.

A failing line of a computed input is one that says so, in the way of TAP, pytest, compilers and the like; a pin's rule
is what its author set in bold, else its first sentence or line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.runners.demo_prompt import Part, Reading

#: how much of a text is quoted
QUOTE_CHARS = 400
#: of a rule or a line within a sentence
_SHORT = 160

_FAILS = re.compile(
    r"^not ok\b|^E\b|\b(?:fail|fails|failed|failure|error|panic|traceback|exception)\b|\w(?:Error|Exception)\b",
    re.IGNORECASE,
)
#: a count of nothing is no failure
_NONE = re.compile(r"\b(?:0|no) (?:fail\w*|errors?)\b|\b(?:fail\w*|errors?)[:=]? ?0\b", re.IGNORECASE)
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", re.DOTALL)
_SENTENCE = re.compile(r".+?[.!?](?=\s|\Z)|.+")
_WORD = re.compile(r"[^\W_]{3,}")
#: words that questions are made of, whatever they ask about
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "about and are can could did does for from has have how its not our should that the their then there this was "
        "were what when where which who whom why will with would you your",
    )
)


def conclusion(seen: Reading) -> str:
    """One to three sentences. They claim nothing but what stands in the prompt."""
    question = seen.question
    asked = _words(question)
    told: list[tuple[int, str]] = []
    if (failing := _failing(seen, asked)) is not None:
        part, line = failing
        told.append(
            (_score(line, asked), f"{inline(part.source or 'input')} reports a failure: {inline(line, _SHORT)}.")
        )
    elif seen.inputs:
        told.append((0, _calm(seen)))
    for pin, rule in sorted(((pin, _rule(pin)) for pin in seen.pins), key=lambda each: -_score(each[1], asked))[:1]:
        told.append((_score(pin.text, asked), f"{_of(pin)} pinned rule must hold: *{rule}*."))
    # stable: what fails comes first unless the question is closer to what is pinned
    told.sort(key=lambda each: -each[0])
    if not told:
        return f"nothing that I was given answers {inline(question)}." if question else "you did not ask anything."
    first, *others = (sentence for _, sentence in told)
    return " ".join([first, *(sentence[:1].upper() + sentence[1:] for sentence in others)])


def _failing(seen: Reading, asked: frozenset[str]) -> tuple[Part, str] | None:
    """The failing line with most of the question in it; the first of equals."""
    lines = [(part, line) for part in seen.inputs if not refusal(part) for line in _lines(part) if _fails(line)]
    return max(lines, key=lambda each: _score(each[1], asked), default=None)


def _lines(part: Part) -> Iterator[str]:
    return (line.strip() for line in part.output.splitlines() if line.strip())


def _fails(line: str) -> bool:
    return bool(_FAILS.search(_NONE.sub("", line)))


def _calm(seen: Reading) -> str:
    missing = [inline(part.source or "input") for part in seen.inputs if refusal(part)]
    if missing:
        return f"{', '.join(missing)} could not be computed."
    return "nothing that was computed reports a failure."


def refusal(part: Part) -> str:
    """Why an input could not be computed, in the engine's words; empty where it could."""
    return next((line for line in part.facts.splitlines() if line.startswith("unavailable: ")), "")


def _rule(pin: Part) -> str:
    bold = _BOLD.search(pin.text)
    sentence = bold or _SENTENCE.search(pin.text.strip())
    words = " ".join((bold[1] if bold else sentence[0] if sentence else "(nothing)").split())
    cut = " […]" if len(words) > _SHORT else ""
    # within emphasis of ours no other sign of Markdown may stand
    return re.sub(r"([*_`\[\]<>\\])", r"\\\1", words[:_SHORT].rstrip(" .")) + cut


def _of(pin: Part) -> str:
    return "the bot's" if pin.is_bot else f"**{pin.author}**'s" if pin.author else "the"


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(text)) - _COMMON


def _score(text: str, asked: frozenset[str]) -> int:
    return len(_words(text) & asked)


def inline(text: str, room: int = QUOTE_CHARS) -> str:
    """One line of code, fenced longer than any run of backticks in it."""
    line = " ".join(text.split())
    if len(line) > room:
        line = f"{line[:room]} […]"
    fence = "`"
    while fence in line:
        fence += "`"
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"

"""The table of built-in commands: parser, authorisation and `help` read it, so none can be without its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bot.model.role import Role

_LINK = r"<?(?P<link>https?://[^\s<>]+)>?"
_COMMENT_LINK = r"<?(?P<link>https?://[^\s<>]+#(?:issuecomment-|discussion_r|pullrequestreview-)\d+)>?"
_RUN = r"(?P<run>r[1-9]\d{0,8})"
_GATE = r"(?P<gate>r\d{1,9}(?:\.[A-Za-z][\w-]*)*)"
#: nothing, a gate by its name or its run's, or words (a gate's step among them): what is asked decides about those
_ANSWER = ("", rf"\s+{_GATE}[,:;.!?]*(?:\s+(?P<text>\S.*))?", r"\s+(?P<text>\S.*)")
#: characters of the words of one workflow that `help` shows in its table
_WORDS_MAX = 60
_STEP = r"`?(?P<from>[a-z][a-z0-9_]*)`?"


@dataclass(frozen=True, slots=True)
class Builtin:
    """One built-in command.

    `patterns` are what its line may look like behind the name, tried in order, case aside; their named groups become
    the command's params, but for `text`, which goes on over the following lines. `role` is the least role that may use
    it, None for the `trigger_role` of the repository.
    """

    name: str
    usage: str
    example: str
    summary: str
    patterns: tuple[str, ...] = ("",)
    role: Role | None = None
    #: an answer to what people are asked: with words behind it, it counts only while they are asked something
    answers: bool = False
    #: who may use it, where no role says it
    who: str = ""

    def fit(self, line: str) -> dict[str, str] | None:
        """The named parts of a line that is this command and nothing else, None for any other line."""
        for pattern in self.patterns:
            found = re.fullmatch(rf"{self.name}{pattern}", line, re.IGNORECASE)
            if found:
                return {key: value for key, value in found.groupdict().items() if value is not None}
        return None


BUILTINS: tuple[Builtin, ...] = (
    Builtin("help", "help", "help", "what I can do here"),
    Builtin("status", "status", "status", "what is running and what waits in this thread"),
    Builtin("cancel", "cancel [run]", "cancel r3", "end a run, or all of this thread", ("", rf"\s+{_RUN}")),
    Builtin(
        "retry",
        "retry [run] [from step]",
        "retry r3 from build",
        "make the newest run that ended, or the one you name, once more: all of it, or from one of its steps",
        (rf"(?:\s+{_RUN})?(?:\s+from\s+{_STEP})?",),
        who="whoever may start it",
    ),
    Builtin("stop", "stop", "stop", "end all of this thread, and start nothing in it until `resume`"),
    Builtin("resume", "resume", "resume", "start things in this thread again"),
    Builtin(
        "steer",
        "steer [run] <text>",
        "steer Leave the parser alone",
        "tell a run that is under way something: its agent reads it at its next turn",
        (rf"\s+{_RUN}\s+(?P<text>\S.*)", r"\s+(?P<text>\S.*)"),
        who="whoever may start it",
    ),
    Builtin(
        "approve",
        "approve [gate] [text]",
        "approve r5.plan It is small",
        "answer a question with `approve`; words behind it go to the next step",
        _ANSWER,
        answers=True,
        who="whom the question is for",
    ),
    Builtin(
        "reject",
        "reject [gate] [text]",
        "reject It breaks the old format",
        "answer a question with `reject`, and say why",
        _ANSWER,
        answers=True,
        who="whom the question is for",
    ),
    Builtin(
        "answer",
        "answer [gate] [option|text|key=value …]",
        "answer revise Leave the parser alone",
        "answer a question with one of its options, a form by `key=value`, or in your own words",
        _ANSWER,
        answers=True,
        who="whom the question is for",
    ),
    Builtin(
        "pin",
        "pin [link|text]",
        "pin Keep Python 3.9 working until the 2.0 release",
        "always show me a comment: the one you link, this one if it has text, else the one before",
        # words behind a comment's link are for people; behind another link they are what is to be kept
        ("", rf"\s+{_COMMENT_LINK}(?:\s.*)?", rf"\s+{_LINK}", r"\s+(?P<text>\S.*)"),
    ),
    Builtin(
        "unpin",
        "unpin <link|number>",
        "unpin 2",
        "no longer show me that comment",
        (rf"\s+{_LINK}", r"\s+#?(?P<number>\d{1,6})"),
    ),
    Builtin("pins", "pins", "pins", "list the pinned comments"),
    Builtin(
        "try",
        "try <branch> <command>",
        "try better-triage triage",
        "run an agent or workflow with the configuration of a branch: without secrets, and nothing is written",
        (r"\s+(?P<branch>\S+)\s+(?P<text>\S.*)",),
        role=Role.WRITE,
    ),
    Builtin("why", "why [run]", "why r3", "what a run saw, and why", ("", rf"\s+{_RUN}")),
    Builtin("config", "config", "config", "the configuration in force, and what is wrong with it"),
)


@dataclass(frozen=True, slots=True)
class Offer:
    """An agent or workflow as `help` lists it; `params` are its `key=value` words as people write them.

    `role` is the least role that may ask for it, None for the `trigger_role` of the repository.
    """

    name: str
    description: str = ""
    params: tuple[str, ...] = ()
    role: Role | None = None


def help_text(
    table: Sequence[Builtin], offers: Iterable[Offer], handle: str, default: str, least: Role = Role.WRITE
) -> str:
    """The `help` comment in Markdown: the repository's agents and workflows first, the built-ins folded away.

    `handle` is with its "@", `default` the agent or workflow that answers what is no command, `least` the repository's
    `trigger_role`.
    """
    rows, takes = [], []
    for offer in sorted(offers, key=lambda offer: offer.name):
        words = " ".join(offer.params)
        if len(words) > _WORDS_MAX:
            takes.append((offer.name, words))
            words = "key=…"
        who = f"({offer.role} and above)" if offer.role is not None else ""
        what = " ".join(filter(None, [offer.description, who])) or "–"
        rows.append((" ".join(filter(None, [handle, offer.name, words, "…"])), what))
    parts = ["**What you can ask me here**", ""]
    parts += _table(("write", "to"), rows) if rows else ["This repository names no agents or workflows of its own."]
    if takes:
        lines = [f"- `{name}`: `{' '.join(words.split())}`" for name, words in takes]
        parts += ["", folded("What they take", "\n".join(lines))]
    parts += ["", f"Anything else after `{handle}` goes to `{default}`.", ""]
    parts.append(folded("Built-in commands", builtins_text(table, handle, least)))
    return "\n".join(parts)


def folded(title: str, text: str) -> str:
    """Text that is there for whoever opens it."""
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def builtins_text(table: Sequence[Builtin], handle: str, least: Role) -> str:
    """The built-in commands as a table; `least` is the role for those that name none."""
    rows = [
        (
            f"{handle} {each.usage}",
            each.summary,
            f"`{handle} {each.example}`",
            each.who or f"{each.role or least} and above",
        )
        for each in table
    ]
    return "\n".join(_table(("write", "to", "for example", "who may"), rows))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for command, *rest in rows:
        lines.append(f"| {' | '.join([f'`{_cell(command)}`', *map(_cell, rest)])} |")
    return lines


def _cell(text: str) -> str:
    """Text that cannot leave its table cell; a table reads `\\|` as `|` in code too."""
    return " ".join(text.split()).replace("|", "\\|")

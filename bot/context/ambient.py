"""What of the run context a prompt gets (row 4), back references (row 5) and the reason for a rework (row 9)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from bot.model.context import Block
from bot.workflows.fidelity import MEDIUM_KEYS, Fidelity
from bot.workspace.capture import Capture

#: characters of each step's answer at `summary:high`
SUMMARY_CHARACTERS = 2_000
#: characters of each value at `truncate`
TRUNCATE_CHARACTERS = 500
GOAL = "graph.goal"


@dataclass(frozen=True, slots=True)
class Finished:
    """A step that ran: its newest outcome, and its newest answer where it gave one."""

    step: str
    outcome: str
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Ambient:
    """The run context as one step's prompt gets it. `reason` says why the level is lower than the declared one.

    `reads` are the step's own keys at `summary:medium` and `truncate`; `cap` cuts each value to so many bytes.
    """

    values: Mapping[str, str]
    finished: Sequence[Finished] = ()
    level: Fidelity = "full"
    reason: str = ""
    reads: Collection[str] = ()
    cap: int | None = None

    def blocks(self) -> tuple[Block, ...]:
        """One block a key, keys sorted. The values themselves stay whole where they are kept."""
        chosen = {**self._kept(), **self._made()}
        return tuple(
            Block("context", f"ctx.{key}", "untrusted", capped(chosen[key], self.cap), f"ctx.{key}")
            for key in sorted(chosen)
        )

    def _kept(self) -> dict[str, str]:
        match self.level:
            case "full" | "summary:high":
                return dict(self.values)
            case "summary:medium":
                return self._of((*MEDIUM_KEYS, *self.reads))
            case "truncate":
                return {key: truncated(text) for key, text in self._of((*MEDIUM_KEYS, *self.reads)).items()}
            case "summary:low":
                return self._of((GOAL,))
            case "compact":
                return self._of((GOAL, "outcome"))

    def _made(self) -> dict[str, str]:
        """Keys that only the prompt has."""
        if self.level == "summary:high":
            return {f"summary.{each.step}": _head(each.answer) for each in self.finished if each.answer is not None}
        if self.level == "summary:low" and self.finished:
            return {"completed_summary": "".join(f"{each.step}: {each.outcome}\n" for each in self.finished)}
        return {}

    def _of(self, keys: Collection[str]) -> dict[str, str]:
        return {key: self.values[key] for key in keys if key in self.values}


def reference(name: str, text: str) -> Block:
    """A back reference: exactly the value, whatever its size."""
    return Block("reference", name, "untrusted", text, name)


def rework_reason(source: str, text: str) -> Block:
    """Why the step is done again: a person's words, or what did not fit."""
    return Block("rework", source, "untrusted", text, f"rework: {source}")


def capped(text: str, cap: int | None) -> str:
    """Head and tail of a text within so many bytes, with a mark between that says how much is missing."""
    raw = text.encode("utf-8", "replace")
    if cap is None or len(raw) <= cap:
        return text
    capture = Capture(cap)
    capture.feed(raw)
    return capture.text()


def truncated(text: str, limit: int = TRUNCATE_CHARACTERS) -> str:
    """The first words within so many characters, and `...` where there were more."""
    if len(text) <= limit:
        return text
    head = text[: limit + 1]
    cut = max((at for at, character in enumerate(head) if character.isspace()), default=0)
    # one word that is longer than all of it
    return (text[:cut].rstrip() or text[:limit]) + "..."


def _head(text: str) -> str:
    if len(text) <= SUMMARY_CHARACTERS:
        return text
    return f"{text[:SUMMARY_CHARACTERS]}\n[… {len(text) - SUMMARY_CHARACTERS} characters left out]"

"""What a gate's comment says: the question while it is open, and what became of it afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.model.ident import compact
from bot.model.slot import Slot
from bot.publish.body import inline_code, one_line, stack
from bot.publish.footer import Footer
from bot.publish.split import closing

#: characters of a form's answer that are shown; all of it is in the step's output
_SHOWN = 200


def gate_slot(run_id: str, step: str, number: int, path: str, *, approval: str = "") -> Slot:
    """The slot of a gate's one comment. `number` is the attempt's, `path` its frame's.

    An attempt may ask for several approvals, one after the other: `approval` is then the id of its gate.
    """
    return Slot(f"run/{run_id}", f"gate.{approval}" if approval else "gate", path, step, number)


def gate_body(
    *,
    name: str,
    question: str,
    show: str = "",
    options: Sequence[str] = (),
    questions: Sequence[Mapping[str, Any]] = (),
    text: bool = False,
    who: str = "",
    until: datetime | None = None,
    then: str = "",
    address: str = "",
    footer: Footer | None = None,
) -> str:
    """A question to people: what is asked and about what, what can be answered, by whom, until when and how.

    `who` is whom it is for, in words; `then` what follows after `until`; `address` where an answer is posted to, empty
    where none is taken.
    """
    facts = [f"for {who}" if who else "", f"open until {_moment(until)}" if until else ""]
    asked = f"{_question(question)} Asked by {inline_code(name)}{''.join(f'; {fact}' for fact in facts if fact)}"
    asked = f"{asked}, then {then}." if until and then else f"{asked}."
    lines = [f"- {inline_code(option)}" for option in options]
    for one in questions:
        takes = ", ".join(map(inline_code, one["options"])) if one["options"] else one["type"]
        need = "" if one["required"] else ", may be left out"
        lines.append(f"- {inline_code(one['id'])}: {one_line(one['question'])} ({takes}{need})")
    if text:
        lines.append("- " + ("or " if lines else "") + "your own words")
    how = f"<sub>{_how(address, options, questions, text)}</sub>"
    return stack(asked, _more(question), _shown(show), "\n".join(lines), how, footer)


def settled_gate_body(
    *,
    name: str,
    question: str,
    show: str = "",
    answer: Mapping[str, Any] | None = None,
    expired: datetime | None = None,
    then: str = "",
    footer: Footer | None = None,
) -> str:
    """The same comment when nobody need answer any more: who answered what, or why nobody did.

    `answer` is the gate's; without one `expired` says until when it was open, and without that its run ended.
    """
    pieces: list[str] = []
    if answer is not None:
        by = inline_code(str(answer.get("by") or "nobody"))
        label = f": **{inline_code(answer['answer'])}**" if answer.get("answer") else ""
        at = answer.get("at")
        when = f" on {_moment(datetime.fromisoformat(at))}" if isinstance(at, str) else ""
        pieces.append(f"✅ Answered by {by}{when}{label}")
        asked = answer.get("questions") or {}
        given = (answer.get("answers") or {}).items()
        pieces.append("\n".join(f"- {one_line(asked.get(key, key))}: {_value(value)}" for key, value in given))
        pieces.append(_quoted(str(answer.get("text") or "")))
    elif expired is not None:
        pieces.append(f"⌛ Nobody answered until {_moment(expired)}{f'; {then}' if then else ''}.")
    else:
        pieces.append("✖️ Not to be answered any more: the run has ended.")
    told = [piece for piece in pieces if piece]
    return stack(f"{_question(question)} Asked by {inline_code(name)}.", _more(question), _shown(show), *told, footer)


def _question(question: str) -> str:
    """Its first line, bold; a lone backtick would pair with one of ours."""
    first = one_line(question.strip().partition("\n")[0])
    return f"**{first.replace('`', '') if first.count('`') % 2 else first}**"


def _more(question: str) -> str:
    """What the question says behind its first line."""
    rest = question.strip().partition("\n")[2].strip()
    return rest + closing(rest)


def _shown(show: str) -> str:
    return show.strip() + closing(show.strip())


def _how(address: str, options: Sequence[str], questions: Sequence[Mapping[str, Any]], text: bool) -> str:
    if not address:
        return (
            "Answers are taken over the API alone so far, and of this gate there too none: "
            "its step does not say <code>who: {dashboard: true}</code>."
        )
    if questions:
        body: dict[str, Any] = {"answers": {one["id"]: _example(one) for one in questions if one["required"]}}
    else:
        body = {"answer": options[0]} if options else {"text": "…"} if text else {}
    return f"Whoever runs the bot answers: {inline_code(compact(body))} to {inline_code(f'POST {address}')}"


def _example(question: Mapping[str, Any]) -> Any:
    return {"number": 1, "bool": True, "enum": next(iter(question["options"]), "…")}.get(question["type"], "…")


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else compact(value)
    return inline_code(text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …")


def _quoted(text: str) -> str:
    text = text.strip()
    return "\n".join(f"> {line}".rstrip() for line in (text + closing(text)).split("\n")) if text else ""


def _moment(at: datetime) -> str:
    return f"{at.day} {at:%B %Y, %H:%M} UTC"

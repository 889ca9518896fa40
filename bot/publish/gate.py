"""What a gate's comment says: the question while it is open, and what became of it afterwards. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.model.ident import compact
from bot.model.slot import Slot
from bot.publish.body import inline_code, one_line, stack
from bot.publish.boxes import box
from bot.publish.footer import Footer, plain
from bot.publish.split import closing
from bot.workflows.answers import choices, for_people
from bot.workflows.gate_steps import APPROVE, ASKED_MAX

#: characters of a form's answer that are shown; all of it is in the step's output
_SHOWN = 200
#: characters of what is asked about that are shown, so that the options behind it are always there
SHOW_MAX = 120_000
_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,99})")


def gate_slot(
    run_id: str, step: str, number: int, path: str, *, approval: str = "", asked: int = 1, what: str = "gate"
) -> Slot:
    """The slot of a gate's comment. `number` is the attempt's, `path` its frame's.

    An attempt may ask for several approvals, one after the other: `approval` is then the id of its gate. Each time it
    asks (`asked`) it is a comment of its own. `what` is `gate`, or `reminder`.
    """
    purpose = ".".join([what, *([approval] if approval else []), *([str(asked)] if asked > 1 else [])])
    return Slot(f"run/{run_id}", purpose, path, step, number)


def gate_body(
    *,
    name: str,
    asked: Mapping[str, Any],
    question: str,
    show: str = "",
    who: str = "",
    until: datetime | None = None,
    then: str = "",
    note: str = "",
    time: int = 1,
    handle: str = "@bot",
    bound: str = "",
    footer: Footer | None = None,
) -> str:
    """A question to people: what is asked and about what, what can be answered, by whom, until when and how.

    `asked` is what the gate takes (`options`, `questions`, `text` of its row); `who` whom it is for, in words; `then`
    what follows after `until`; `note` why the last answer did not count; `time` which time it asks; `bound` what an
    answer is bound to.
    """
    head = f"{_question(question)} Asked by {inline_code(name)}"
    if who:
        head += f"; {who} can answer" + (f" until {moment(until)}" if until else "")
    elif until:
        head += f"; open until {moment(until)}"
    head += f", then {then}." if until and then else "."
    again = f"asked again ({time} of {ASKED_MAX})" if time > 1 else ""
    told = f"*{': '.join(filter(None, (again, note)))}.*" if again or note else ""
    told = told[:1] + told[1:2].upper() + told[2:]
    small = " · ".join(filter(None, (_how(asked, handle), _run(footer), bound)))
    return stack(
        head, _more(question) or None, _shown(show) or None, told or None, _takes(asked, handle), f"<sub>{small}</sub>"
    )


def settled_gate_body(
    *,
    name: str,
    question: str,
    show: str = "",
    answer: Mapping[str, Any] | None = None,
    expired: datetime | None = None,
    void: str = "",
    then: str = "",
    note: str = "",
    bound: str = "",
    footer: Footer | None = None,
) -> str:
    """The same comment when nobody need answer any more: who answered what, or why nobody did.

    `answer` is the gate's; without one `void` says why what was answered does not count, `expired` until when it was
    open, and without those its run ended.
    """
    pieces: list[str] = []
    if void:
        pieces.append(f"↩️ Void: {void}.")
        pieces.append(f"{then}." if then else "")
    elif answer is not None:
        by = inline_code(str(answer.get("by") or "nobody"))
        label = f": **{inline_code(answer['answer'])}**" if answer.get("answer") else ""
        at = answer.get("at")
        when = f" on {moment(datetime.fromisoformat(at))}" if isinstance(at, str) else ""
        pieces.append(f"✅ Answered by {by}{when}{label}")
        asked = answer.get("questions") or {}
        given = (answer.get("answers") or {}).items()
        pieces.append("\n".join(f"- {one_line(asked.get(key, key))}: {_value(value)}" for key, value in given))
        pieces.append(_quoted(str(answer.get("text") or "")))
    elif expired is not None:
        pieces.append(f"⌛ Nobody answered until {moment(expired)}{f'; {then}' if then else ''}.")
    else:
        pieces.append("✖️ Not to be answered any more: the run has ended.")
    pieces.append(f"*{note[:1].upper()}{note[1:]}.*" if note else "")
    small = " · ".join(filter(None, (_run(footer), bound)))
    told = [piece for piece in (_more(question), _shown(show), *pieces) if piece]
    return stack(
        f"{_question(question)} Asked by {inline_code(name)}.", *told, f"<sub>{small}</sub>" if small else None
    )


def reminder_body(*, name: str, question: str, whom: Sequence[str], link: str, until: datetime, then: str) -> str:
    """One short comment at half time; `whom` are those who are asked for by name."""
    asked = one_line(question.strip().partition("\n")[0])
    shown = f"[{plain(asked)}]({link})" if link else f"**{plain(asked)}**"
    after = f", then {then}" if then else ""
    head = " ".join([*map(person, whom), inline_code(name)])
    return f"{head} still waits for an answer: {shown} It is open until {moment(until)}{after}."


def for_whom(who: Mapping[str, Any], requester: str) -> str:
    """Whom a gate is for, in words."""
    return for_people(who, person(requester), person)


def person(login: str) -> str:
    """Somebody by name; what is no name of a person is code."""
    return f"@{login}" if _LOGIN.fullmatch(login) else inline_code(login)


def moment(at: datetime) -> str:
    """A time as people read it."""
    return f"{at.day} {at:%B, %H:%M} UTC"


def bound_to(digest: str, head_sha: str | None) -> str:
    """What an answer is bound to, short."""
    return digest[:7] + (f" at head {head_sha[:7]}" if head_sha else "")


def reply(handle: str, *words: str) -> str:
    """A reply that answers, as code."""
    return inline_code(" ".join([handle, *words]))


def _takes(asked: Mapping[str, Any], handle: str) -> str | None:
    """What can be answered: boxes, the questions of a form, one's own words."""
    lines: list[str] = []
    options = asked.get("options") or {}
    for label, leads in options.items():
        say = ""
        if isinstance(leads, Mapping):  # work goes back: somebody has to say what is to change
            say = f": reply {reply(handle, 'answer', label, '<what to change>')} to say what"
        lines.append(box(_label(label) + say))
    questions = asked.get("questions") or ()
    single = choices(asked) if questions else ()
    for one in questions:
        takes = ", ".join(map(inline_code, one["options"])) if one["options"] else one["type"]
        need = "" if one["required"] else ", may be left out"
        what = f"{inline_code(one['id'])}: {one_line(one['question'])}"
        lines.append(what if single else f"- {what} ({takes}{need})")
    if single:
        lines += ["", *(box(_label(choice)) for choice in single)]
    if asked.get("text"):
        own = reply(handle, "answer", "<your words>")
        lines += [f"- or in your own words: {own}" if lines else f"Answer in your own words: {own}"]
    return "\n".join(lines) or None


def _how(asked: Mapping[str, Any], handle: str) -> str:
    """The shortest ways to answer."""
    boxes, questions = choices(asked), asked.get("questions") or ()
    if questions:
        words = [f"{one['id']}=…" for one in questions if one["required"]] or [f"{questions[0]['id']}=…"]
        way = reply(handle, "answer", *words)
    elif boxes:
        way = reply(handle, "approve") if APPROVE in boxes else reply(handle, "answer", boxes[0])
    else:
        way = reply(handle, "answer", "<your words>") if asked.get("text") else ""
    return f"Tick a box, or {way}" if boxes else way and f"Reply {way}"


def _label(label: str) -> str:
    return label if re.fullmatch(r"\w[\w ,.'-]*", label) and "__" not in label else plain(label)


def _run(footer: Footer | None) -> str:
    return footer.link if footer is not None else ""


def _question(question: str) -> str:
    """Its first line, bold; a lone backtick would pair with one of ours."""
    first = one_line(question.strip().partition("\n")[0])
    return f"**{first.replace('`', '') if first.count('`') % 2 else first}**"


def _more(question: str) -> str:
    """What the question says behind its first line."""
    rest = question.strip().partition("\n")[2].strip()
    return rest + closing(rest)


def _shown(show: str) -> str:
    text = show.strip()
    if len(text) <= SHOW_MAX:
        return text + closing(text)
    cut = text[:SHOW_MAX]
    return f"{cut}{closing(cut)}\n\n*{len(text) - SHOW_MAX:,} characters more are not shown here.*"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else compact(value)
    return inline_code(text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …")


def _quoted(text: str) -> str:
    text = text.strip()
    return "\n".join(f"> {line}".rstrip() for line in (text + closing(text)).split("\n")) if text else ""

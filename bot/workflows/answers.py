"""An answer held against what a gate asks. Pure; whatever channel it came by, it is checked here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from bot.errors import UserError
from bot.model.role import Role, strictest

#: characters of a person's free text
TEXT_MAX = 16_384
#: what a `bool` is chosen by
YES, NO = "yes", "no"


#: whoever has a role, in words
_PEOPLE: Mapping[str, str] = {
    Role.READ: "anybody who can read here",
    Role.TRIAGE: "anybody who can triage here",
    Role.WRITE: "anybody who can write here",
    Role.MAINTAIN: "a maintainer",
    Role.ADMIN: "an administrator",
}
#: what shuts somebody out: they asked for the run, they are none of those named, or their role is not enough
Bar = Literal["requester", "login", "role"]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who answers, with the role that GitHub tells now."""

    id: int
    login: str
    role: Role


def barred(who: Mapping[str, Any], person: Person, requesters: Collection[int]) -> Bar | None:
    """What shuts a person out from a gate that is for `who`; None for one who may answer.

    `requesters` are the ids of whoever asked for the run, and of whoever is at the root of the chain that led to it.
    """
    if who.get("not_requester") and person.id in requesters:
        return "requester"
    logins = [str(login) for login in who.get("logins") or ()]
    if person.login.casefold() in {login.casefold() for login in logins}:
        # whoever is named may answer with any role, but not without one: that is somebody who has left
        return None if person.role.at_least(Role.READ) else "role"
    role = who.get("role") or ("" if logins else Role.WRITE)
    if not role:
        return "login"
    # everybody has `read` in a public repository; `none` would let in whoever has no access at all
    return None if person.role.at_least(strictest(Role(role), Role.READ)) else "role"


def refused(bar: Bar, who: Mapping[str, Any], person: Person, name: str, requester: str, *, to_them: bool) -> str:
    """Why a person may not answer the gate `name`, and who can, as a sentence without its full stop.

    `requester` is whoever asked for its run, not for one that led to it; `to_them`: it is said to the person.
    """
    if bar == "requester":
        run = name.partition(".")[0]
        asker = "you" if to_them else f"`{person.login}`"
        run = run if person.login.casefold() == requester.casefold() else f"what led to {run}"
        others = [str(one) for one in who.get("logins") or () if str(one).casefold() != person.login.casefold()]
        people = for_people({**who, "logins": others}, f"`{person.login}`", "`{}`".format).rstrip(",")
        return f"{asker} asked for {run}, so somebody else has to answer" + (f": {people}" if people else "")
    people = for_people(who, f"`{requester}`", "`{}`".format).rstrip(",") or _PEOPLE[Role.WRITE]
    has = "no role here" if person.role is Role.NONE else str(person.role)
    return f"`{name}` is for {people}" + (f"; `{person.login}` has {has}" if bar == "role" else "")


def for_people(who: Mapping[str, Any], requester: str, named: Callable[[str], str]) -> str:
    """Whom a gate is for, in words; `named` writes a login, `requester` is whoever `not_requester` shuts out."""
    people = [named(str(login)) for login in who.get("logins") or ()]
    if who.get("role"):
        people.append(_PEOPLE.get(who["role"], f"somebody with the role `{who['role']}`"))
    if who.get("dashboard"):
        people.append("whoever runs the bot")
    if not people:
        return ""
    several = "," if len(people) > 1 else ""
    return " or ".join(people) + (f"{several} other than {requester}{several}" if who.get("not_requester") else "")


def choices(asked: Mapping[str, Any]) -> tuple[str, ...]:
    """What can be chosen by ticking a box: the options, or the values of a form's only question where it has some."""
    questions = list(asked.get("questions") or [])
    if len(questions) != 1:
        return () if questions else tuple(asked.get("options") or {})
    one = questions[0]
    return (YES, NO) if one["type"] == "bool" else tuple(one["options"])


def chosen(asked: Mapping[str, Any], choice: str) -> dict[str, Any]:
    """The answer that a choice is."""
    questions = asked.get("questions") or ()
    return {"answers": {questions[0]["id"]: choice}} if questions else {"answer": choice}


def spoken(asked: Mapping[str, Any], text: str, words: Mapping[str, str]) -> dict[str, Any]:
    """The answer that somebody's words are: an option with what follows as its reason, a form's, or free text.

    `words` are the leading `key=value` of `text`. What fits nothing is told by `taken`.
    """
    questions = asked.get("questions") or ()
    if questions:
        if not words and len(questions) == 1 and text.strip():
            return {"answers": {questions[0]["id"]: text.strip()}}
        return {"answers": dict(words)}
    said = text.strip()
    for label in sorted(asked.get("options") or {}, key=len, reverse=True):
        rest = said[len(label) :]
        whole = not rest[:1].isalnum() and rest[:1] not in ("_", "-")
        if whole and said.casefold().startswith(label.casefold()):
            return {"answer": label, "text": rest.lstrip(" \t\n:,.;–").strip()}
    if asked.get("text"):
        return {"text": text}
    first = text.split(maxsplit=1)[0] if text.split() else ""
    return {"answer": first} if first else {}


def taken(asked: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer as it is kept: `{answer, text}`, or of a form `{answers, questions, text}`.

    `asked` is what the gate asks (`options`, `questions`, `text` of its row); `answer` has `answer` (a label), `text`,
    or `answers` (a form's, by question id). Raises `UserError` (`gate_answer`) for one that is none, with every reason.
    """
    labels, questions = tuple(asked.get("options", {})), asked.get("questions", ())
    label, text, answers = answer.get("answer"), str(answer.get("text") or "").strip(), answer.get("answers") or {}
    if len(text) > TEXT_MAX:
        raise UserError("gate_answer", f"the text has more than {TEXT_MAX:,} characters", "Say it shorter.")
    if label is not None and label not in labels:
        hint = f"Options: {_listed(labels)}." if labels else "This gate has none."
        raise UserError("gate_answer", f"`{label}` is no option", hint)
    if answers and not questions:
        raise UserError("gate_answer", "this gate asks no questions", f"It takes {_takes(asked)}.")
    if questions:
        return {
            "answers": _form(questions, answers),
            "questions": {one["id"]: one["question"] for one in questions},
            "text": text,
        }
    if label is None and not (asked.get("text") and text):
        raise UserError("gate_answer", "there is no answer", f"It takes {_takes(asked)}.")
    return {"answer": label, "text": text}


def _takes(asked: Mapping[str, Any]) -> str:
    """What a gate without questions takes."""
    labels = tuple(asked.get("options", {}))
    words = ["free text"] if asked.get("text") else []
    return " or ".join([*([f"one of {_listed(labels)}"] if labels else []), *words])


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(f"`{one}`" for one in labels)


def _form(questions: Sequence[Mapping[str, Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    wrong = [f"`{key}` is no question" for key in given if key not in {one["id"] for one in questions}]
    for one in questions:
        value = given.get(one["id"])
        if value is None or (isinstance(value, str) and not value.strip()):
            if one["required"]:
                wrong.append(f"`{one['id']}` needs an answer")
            continue
        fit = _fits(one, value)
        if fit is None:
            wanted = f"one of {_listed(one['options'])}" if one["type"] == "enum" else f"a {one['type']}"
            wrong.append(f"`{one['id']}` takes {wanted}")
        else:
            answers[one["id"]] = fit
    if wrong:
        raise UserError("gate_answer", "; ".join(wrong), "Answer every question that needs it.")
    return answers


def _fits(question: Mapping[str, Any], value: Any) -> Any:
    """The value as the question's type; None where it is none. People write text, so text is read as any type."""
    match question["type"]:
        case "text":
            return value if isinstance(value, str) and len(value) <= TEXT_MAX else None
        case "bool":
            words = {"true": True, "yes": True, "false": False, "no": False}
            return value if isinstance(value, bool) else words.get(str(value).strip().lower())
        case "enum":
            return value if value in question["options"] else None
        case _:
            return _number(value)


def _number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if not isfinite(number):
        return None
    return int(number) if number.is_integer() else number

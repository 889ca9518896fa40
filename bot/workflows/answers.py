"""An answer held against what a gate asks. Pure; whatever channel it came by, it is checked here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from bot.errors import UserError

#: characters of a person's free text
TEXT_MAX = 16_384


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
    return " or ".join([*([f"one of {_listed(labels)}"] if labels else []), *(["free text"] if asked["text"] else [])])


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

"""What a gate asks, and what its answer comes to. Pure: rows in, outcomes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.engine.values import LABEL
from bot.errors import UserError
from bot.model.ident import compact, digest
from bot.model.outcome import Done, Failed, Outcome, Question, Wait
from bot.model.state import GateState
from bot.store.tables import Gate
from bot.workflows.gate_steps import REJECT, AskStep, Back, FormQuestion, WaitStep

#: characters of a person's free text
TEXT_MAX = 16_384


def asked(step: AskStep | WaitStep, scope: Mapping[str, Any], now: datetime) -> Outcome:
    """What a step waits for, from now; a failure where its texts cannot be put together."""
    until = now + timedelta(seconds=step.timeout)
    if isinstance(step, WaitStep):
        if step.wait.event is None:
            return Wait("time", until=until)
        return Wait("event", event=step.wait.event, until=until)
    try:
        question = Question(
            question=step.template("ask").render(scope).text,
            show=step.template("show").render(scope).text if step.show else "",
            options={label: _leads(step, label) for label in step.labels},
            questions=tuple(_form(one, scope) for one in step.questions),
            text=step.text,
            who=step.who.model_dump(mode="json"),
            on_timeout=step.on_timeout,
        )
    except UserError as error:
        return Failed(error.code, error.message, error.hint)
    return Wait("answer", question=question, until=until)


def _leads(step: AskStep, label: str) -> Any:
    option = step.options.get(label)
    return {"rework": option.rework} if isinstance(option, Back) else option


def _form(one: FormQuestion, scope: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": one.id,
        "question": one.template("question").render(scope).text,
        "type": one.type,
        "options": list(one.options),
        "required": one.required,
    }


def opened(wait: Wait, *, run_id: str, attempt_id: str, now: datetime, kept: str | None) -> Gate:
    """The row of what is waited for. Its digest binds an answer to what was shown."""
    question = wait.question or Question("")
    options = {"options": question.options, "questions": list(question.questions), "text": question.text}
    shown = compact({"question": question.question, "show": question.show, **options})
    return Gate(
        run_id=run_id,
        attempt_id=attempt_id,
        kind=wait.what,
        question=question.question,
        options={**options, "show": question.show, "event": wait.event, "on_timeout": question.on_timeout},
        who=question.who,
        digest=digest(shown),
        deadline=wait.until,
        kept=kept,
        opened_at=now,
    )


def taken(gate: Gate, answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer held against what a gate asks, as it is kept. Raises `UserError` (`gate_answer`) for one that is none.

    `answer` has `answer` (a label), `text`, or `answers` (a form's, by question id).
    """
    labels, text = tuple(gate.options.get("options", {})), str(answer.get("text") or "").strip()
    label = answer.get("answer")
    if len(text) > TEXT_MAX:
        raise UserError("gate_answer", f"the text has more than {TEXT_MAX:,} characters", "Say it shorter.")
    if label is not None and label not in labels:
        known = ", ".join(f"`{one}`" for one in labels)
        raise UserError("gate_answer", f"`{label}` is no option", f"Options: {known}." if known else "It has none.")
    questions = gate.options.get("questions", [])
    if questions:
        answers = _answers(questions, answer.get("answers") or {})
        return {"answers": answers, "questions": {one["id"]: one["question"] for one in questions}, "text": text}
    if label is None and not (gate.options.get("text") and text):
        known = ", ".join(f"`{one}`" for one in labels) or "free text"
        raise UserError("gate_answer", "there is no answer", f"It takes {known}.")
    return {"answer": label, "text": text}


def _answers(questions: list[dict[str, Any]], given: Mapping[str, Any]) -> dict[str, Any]:
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
            wanted = " or ".join(one["options"]) if one["type"] == "enum" else f"a {one['type']}"
            wrong.append(f"`{one['id']}` takes {wanted}")
        else:
            answers[one["id"]] = fit
    if wrong:
        raise UserError("gate_answer", "; ".join(wrong), "Answer every question that needs it.")
    return answers


def _fits(question: Mapping[str, Any], value: Any) -> Any:
    """The value as its type; None where it is none."""
    match question["type"]:
        case "text":
            return value if isinstance(value, str) and len(value) <= TEXT_MAX else None
        case "bool":
            words = {"true": True, "yes": True, "false": False, "no": False}
            return value if isinstance(value, bool) else words.get(str(value).strip().lower())
        case "enum":
            return value if value in question["options"] else None
        case _:
            if isinstance(value, bool):
                return None
            try:
                number = float(value)
            except (TypeError, ValueError):
                return None
            if number != number or number in (float("inf"), float("-inf")):
                return None
            return int(number) if number.is_integer() else number


def came_to(step: AskStep | WaitStep, gate: Gate) -> Outcome:
    """What a gate that is over came to: answered, or out of time."""
    answer = gate.answer or {}
    if isinstance(step, WaitStep):
        if gate.kind == "time":
            return Done(result={"event": "time"})
        if gate.state is GateState.ANSWERED:
            return Done(result=answer.get("event", {}))
        hint = f"Raise `timeout` of the step in `{step.mark}`, or let `next` say what follows on `outcome == 'fail'`."
        return Failed("wait_timed_out", f"`{gate.options.get('event')}` did not happen in time", hint)
    if gate.state is not GateState.ANSWERED:
        label = gate.options.get("on_timeout")
        if label is None:
            hint = f"Ask again, raise `timeout` of the step in `{step.mark}`, or name an option with `on_timeout`."
            return Failed("gate_timed_out", "nobody answered in time", hint)
        answer = {"answer": label, "text": "", "by": None}
    label, by = answer.get("answer"), answer.get("by")
    who = f"@{by}" if by else "nobody in time"
    said = f"**{label}**" if label else "an answer"
    output = f"{who}: {said}" + (f"\n\n{answer['text']}" if answer.get("text") else "")
    if answer.get("answers"):
        lines = [f"- {answer['questions'].get(key, key)}: {value}" for key, value in answer["answers"].items()]
        output = "\n".join([f"{who} answered:", "", *lines])
    if label == REJECT and not step.options:
        message = f"{by or 'nobody'} said no" + (f": {answer['text']}" if answer.get("text") else "")
        return Failed("rejected", message, "", output=output, writes={LABEL: REJECT})
    return Done(output=output, result={key: value for key, value in answer.items() if key != "channel"})


def reason_of(outcome: Outcome) -> str:
    """What a person said with an answer, for those who shall do better."""
    if isinstance(outcome, Done) and isinstance(outcome.result, dict):
        return str(outcome.result.get("text") or "")
    return ""


def with_writes(outcome: Outcome, writes: tuple[str, ...]) -> Outcome:
    """A form's answers as keys of the run context."""
    if not writes or not isinstance(outcome, Done):
        return outcome
    answers = outcome.result.get("answers", {}) if isinstance(outcome.result, dict) else {}
    given = {key: answers[key] for key in writes if key in answers}
    texts = {key: value if isinstance(value, str) else compact(value) for key, value in given.items()}
    lacking = [key for key in writes if key not in texts]
    if lacking:
        told = ", ".join(f"`{key}`" for key in lacking)
        return Failed("writes_error", f"the form gave no {told}", "Let the questions be `required`.", outcome.output)
    return replace(outcome, writes={**outcome.writes, **texts})

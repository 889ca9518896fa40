"""What a gate asks, and what its answer comes to. Pure: rows in, outcomes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.engine.terms import Terms
from bot.engine.values import LABEL, normal
from bot.errors import UserError
from bot.model.ident import compact, digest
from bot.model.outcome import Done, Failed, Outcome, Question, Wait
from bot.model.role import Role
from bot.model.state import GateState
from bot.store.gates import ASKED
from bot.store.tables import Gate, Thread
from bot.workflows.gate_steps import APPROVE, GATE_SECONDS, REJECT, AskStep, Back, FormQuestion, WaitStep
from bot.workflows.writes import pick

#: what the answer of a gate has for our own records, which no step sees
_RECORDED = frozenset({"channel", "at", "by_id", "since"})


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


def may_be_so(step: AskStep | WaitStep) -> bool:
    """Whether what is waited for may have happened before: then somebody looks first, or it would never be told."""
    return isinstance(step, WaitStep) and step.wait.event in ("checks_completed", "merged")


def looks(step: AskStep | WaitStep, terms: Terms, thread: Thread) -> bool:
    """Whether somebody looks at GitHub before it waits: whether it is so already, or what an answer is bound to."""
    return may_be_so(step) or (isinstance(step, AskStep) and terms.heads and thread.is_pull_request)


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


def opened(
    wait: Wait,
    *,
    run_id: str,
    attempt_id: str,
    now: datetime,
    kept: str | None,
    least: Role = Role.WRITE,
    head: str | None = None,
) -> Gate:
    """The row of what is waited for. Its digest, and `head`, bind an answer to what was shown.

    `least` is the role of those who may answer where nobody is named.
    """
    question = wait.question or Question("")
    until = wait.until
    if until is None and wait.what == "approval":
        until = now + timedelta(seconds=GATE_SECONDS)
    labels = question.options or ({APPROVE: None, REJECT: None} if wait.what == "approval" else {})
    options = {"options": labels, "questions": list(question.questions), "text": question.text}
    shown = compact({"question": question.question, "show": question.show, **options})
    return Gate(
        run_id=run_id,
        attempt_id=attempt_id,
        kind=wait.what,
        question=question.question,
        options={**options, "show": question.show, "event": wait.event, "on_timeout": question.on_timeout},
        who=_who(wait, question, least),
        digest=digest(shown),
        head_sha=head,
        deadline=until,
        remind_at=half(now, until) if wait.what in ASKED else None,
        kept=kept,
        opened_at=now,
    )


def _who(wait: Wait, question: Question, least: Role) -> dict[str, Any]:
    """Who may answer, nothing left open; a call of a tool may be approved by whoever runs the bot besides."""
    who = dict(question.who)
    if wait.what == "approval" and not who:
        who["dashboard"] = True
    if wait.what in ASKED and not who.get("role") and not who.get("logins"):
        who["role"] = str(least)
    return who


def half(opened_at: datetime, until: datetime | None) -> datetime | None:
    """When people are reminded."""
    return None if until is None else opened_at + (until - opened_at) / 2


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
    who = whose(answer) or "nobody in time"
    said = f"**{label}**" if label else "an answer"
    output = f"{who}: {said}" + (f"\n\n{answer['text']}" if answer.get("text") else "")
    if answer.get("answers"):
        lines = [f"- {answer['questions'].get(key, key)}: {_text(value)}" for key, value in answer["answers"].items()]
        output = "\n".join([f"{who} answered:", "", *lines])
    if label == REJECT and not step.options:
        message = f"{by or 'nobody'} said no" + (f": {answer['text']}" if answer.get("text") else "")
        return Failed("rejected", message, "", output=output, writes={LABEL: REJECT})
    if answer.get("answers"):
        by_question = {normal(answer["questions"].get(key, key)): value for key, value in answer["answers"].items()}
        writes = {"interview_answers": compact({**by_question, **answer["answers"]})}
        more = {"human_response": answer["text"]} if answer.get("text") else {}
        return Done(output=output, result=answer["answers"], writes={**writes, **more})
    return Done(output=output, result={key: value for key, value in answer.items() if key not in _RECORDED})


def whose(answer: Mapping[str, Any]) -> str:
    """Who gave an answer, as people read it; empty where nobody did."""
    by = answer.get("by") or ""
    # `operator` is a word of ours: whoever has that name on GitHub did not say it
    return by if not by or answer.get("channel") == "api" else f"@{by}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact(value)


def reason_of(gate: Gate) -> str:
    """What a person said with an answer, for those who shall do better."""
    return str((gate.answer or {}).get("text") or "")


def with_writes(outcome: Outcome, writes: tuple[str, ...]) -> Outcome:
    """A form's answers as keys of the run context."""
    if not writes or not isinstance(outcome, Done):
        return outcome
    found = pick(outcome.result if isinstance(outcome.result, dict) else {}, writes)
    if found.error:
        return Failed("writes_error", found.error, "Let the questions be `required`.", outcome.output)
    # questions that no key is made of are no surprise
    return replace(outcome, writes={**outcome.writes, **found.values})

"""Gates as the API shows them, and an answer as it takes one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.model.state import GateState
from bot.store.gates import Asked


class ThreadView(BaseModel):
    """Where people see what is asked."""

    repository: str = Field(description="`owner/name`", examples=["acme/widgets"])
    number: int = Field(description="of the issue or pull request")
    is_pull_request: bool


class QuestionView(BaseModel):
    """One question of a form."""

    id: str
    question: str
    type: Literal["text", "number", "bool", "enum"]
    options: list[str] = Field(description="values of an `enum`")
    required: bool


class WhoView(BaseModel):
    """Who may answer. An answer over the API is the actor `operator`, taken only where `dashboard` is true."""

    role: str | None = Field(description="least role of a person; null: only those of `logins`")
    logins: list[str]
    not_requester: bool
    dashboard: bool


class AnswerView(BaseModel):
    """The answer that was given."""

    answer: str | None = Field(description="the option")
    text: str
    answers: dict[str, str | int | float | bool] | None = Field(description="a form's, by question id")
    by: str
    channel: str | None
    at: datetime | None


class GateView(BaseModel):
    """A gate: what is asked, about what, what it takes, and what became of it."""

    id: str = Field(description="ULID", examples=["01KBCD3RHQ9Z6W2N0S5T8V1XYE"])
    name: str = Field(description="what people of the thread call it", examples=["r1.approve"])
    kind: Literal["answer", "approval"] = Field(description="a step that asks, or a tool that needs approval")
    state: GateState
    run_id: str
    thread: ThreadView
    requester: str = Field(description="login of whoever asked for the run")
    question: str
    show: str = Field(description="what it is about, Markdown")
    digest: str = Field(description="of what is asked; send it with an answer to have it held against what you read")
    head_sha: str | None = Field(description="the commit that an answer is bound to; null: none. Send it as `digest`")
    options: list[str]
    questions: list[QuestionView]
    text: bool = Field(description="whether free text is an answer")
    who: WhoView
    on_timeout: str | None = Field(description="the option taken when nobody answers; null: the step fails")
    opened_at: datetime | None
    deadline: datetime | None = Field(description="null: it stays open until the run ends")
    answer: AnswerView | None

    @classmethod
    def of(cls, asked: Asked) -> GateView:
        """The view of a row."""
        gate, thread = asked.gate, asked.thread
        return cls.model_validate(
            {
                "id": gate.id,
                "name": asked.name,
                "kind": gate.kind,
                "state": gate.state,
                "run_id": gate.run_id,
                "thread": {
                    "repository": f"{thread.owner}/{thread.name}",
                    "number": thread.number,
                    "is_pull_request": thread.is_pull_request,
                },
                "requester": asked.dispatch.actor,
                "question": "(kept no longer)" if asked.run.purged_at is not None else gate.question,
                "show": gate.options.get("show", ""),
                "digest": gate.digest,
                "head_sha": gate.head_sha,
                "options": list(gate.options.get("options", {})),
                "questions": gate.options.get("questions", []),
                "text": bool(gate.options.get("text")),
                "who": {"role": None, "logins": [], "not_requester": False, "dashboard": False, **gate.who},
                "on_timeout": gate.options.get("on_timeout"),
                "opened_at": gate.opened_at,
                "deadline": gate.deadline,
                "answer": _answer(gate.answer),
            }
        )


def _answer(given: dict[str, Any] | None) -> dict[str, Any] | None:
    if given is None:
        return None
    return {key: given.get(key) for key in AnswerView.model_fields} | {"by": given.get("by") or ""}


class GatePage(BaseModel):
    """Gates, newest first; `next` is where the following page begins, null on the last."""

    items: list[GateView]
    next: str | None = Field(description="give it as `after`")


#: bounded as a person's free text is
_Text = Annotated[str, Field(max_length=65_536)]
_Sha = Annotated[str, Field(max_length=64)]


class AnswerBody(BaseModel):
    """An answer: an option, free text, or a form's answers by question id. Text beside an option is its reason.

    `digest` and `head_sha` are those of the gate that was read: where it asks something else now, nothing counts. Where
    the head has moved since it was asked, `head_sha` is needed.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"answer": "approve", "head_sha": "4be1d02c4d1f0f6a3b9c6e1f27d98a5e0b7c3d11"},
                {"answer": "revise", "text": "smaller, please"},
                {"answers": {"size": 7, "kind": "b"}},
            ]
        },
    )

    answer: _Text | None = None
    text: _Text | None = None
    digest: _Sha | None = None
    head_sha: _Sha | None = None
    answers: dict[str, _Text | int | float | bool | None] | None = Field(None, max_length=100)

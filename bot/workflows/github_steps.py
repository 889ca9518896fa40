"""Kinds that act on GitHub: `notify`, `review`, `pull_request`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from bot.workflows.base_step import Format, WorkingStep
from bot.workflows.defaults import WorkspaceMode
from bot.workflows.node import Name, Node, describe, fault
from bot.workflows.slots import Slot


def _names(value: Any) -> Any:
    if isinstance(value, list) or (isinstance(value, str) and value.strip().startswith("${{")):
        return value
    raise fault("type_mismatch", f"expected a list of names, got {describe(value)}", "write `[one, two]`")


#: names, or one template that gives a list of them
Names = Annotated[Annotated[Any, BeforeValidator(_names)], Slot.TYPED]


class LabelChange(Node):
    """Labels to be put on the thread and taken off it."""

    NOUN: ClassVar[str] = "`labels`"

    add: Names = Field(default_factory=list, description="names of labels")
    remove: Names = Field(default_factory=list, description="names of labels")


class WebhookCall(Node):
    """A message to a webhook of `resources`."""

    NOUN: ClassVar[str] = "`webhook`"

    resource: Name = Field(description="a webhook of `resources`")
    body: Annotated[Any, Slot.SPEECH] = Field(description="JSON; templates in all its strings")


class Notice(Node):
    """What is done; all of it, in this order."""

    NOUN: ClassVar[str] = "`notify`"

    comment: Annotated[str, Slot.SPEECH] = Field("", description="a comment in the thread")
    labels: LabelChange | None = Field(None, description="labels to add and remove")
    assign: Names = Field(default_factory=list, description="logins")
    close: bool | Literal["completed", "not_planned"] = Field(
        False, description="whether the thread is closed, and why"
    )
    webhook: WebhookCall | None = Field(None, description="a message to a webhook")

    @model_validator(mode="after")
    def _something(self) -> Notice:
        if not self.model_fields_set:
            raise fault(
                "missing_key", "`notify` does nothing", "add `comment`, `labels`, `assign`, `close` or `webhook`"
            )
        return self


class _ActingStep(WorkingStep):
    FORMAT: ClassVar[Format] = "markdown"

    def _usual_workspace(self) -> WorkspaceMode:
        return "none"


class NotifyStep(_ActingStep):
    """Tells people or programs something. Its result is what was made: ids and URLs; it has no output."""

    KIND: ClassVar[str] = "notify"

    notify: Notice = Field(description="what is done")


class ReviewRequest(Node):
    """One review of the pull request."""

    NOUN: ClassVar[str] = "`review`"

    findings: Annotated[Annotated[Any, BeforeValidator(_names)], Slot.TYPED] = Field(
        description="list of `{path, line, start_line, side, body, suggestion}`"
    )
    body: Annotated[str, Slot.SPEECH] = Field("", description="what stands above the findings")
    verdict: Annotated[str, Slot.TYPED] = Field("comment", description="`comment`, `approve` or `request_changes`")
    allow: tuple[Literal["approve", "request_changes"], ...] = Field(
        (), description="verdicts that may be given; any other becomes a comment"
    )


class ReviewStep(_ActingStep):
    """Posts one pull request review, checked against the diff at the head. Its result is what was made."""

    KIND: ClassVar[str] = "review"

    review: ReviewRequest = Field(description="what it says")

    def _usual_workspace(self) -> WorkspaceMode:
        return "read"


class PullRequest(Node):
    """The pull request to be opened or updated."""

    NOUN: ClassVar[str] = "`pull_request`"

    title: Annotated[str, Slot.SPEECH, Field(min_length=1)] = Field(description="its title")
    body: Annotated[str, Slot.SPEECH] = Field("", description="its text; a line that names the issue is added")
    draft: bool = Field(False, description="whether it is a draft")
    base: str | None = Field(None, description="the branch that it is for; the default branch if left out")


class PullRequestStep(_ActingStep):
    """Opens or updates the pull request of this thread's branch. Its result is `{branch, pr_url, number, head_sha}`."""

    KIND: ClassVar[str] = "pull_request"

    pull_request: PullRequest = Field(description="what it says")

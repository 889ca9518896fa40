"""Steps that act on GitHub, on a resource, or run the author's code: their values filled, then handed to `steps`."""

from __future__ import annotations

from typing import Any

from bot.engine.around import Place, Surroundings
from bot.engine.given import given
from bot.engine.terms import Begun, Terms
from bot.errors import UserError
from bot.model.outcome import Outcome
from bot.model.trial import NOTE
from bot.steps import (
    branch_name,
    perform_code,
    perform_connector,
    perform_notify,
    perform_pull_request,
    perform_review,
    read_diff,
)
from bot.workflows.command import rendered_environment
from bot.workflows.github_steps import NotifyStep, PullRequestStep, ReviewStep, WebhookCall
from bot.workflows.node import Node
from bot.workflows.step import CodeStep, ConnectorStep
from bot.workflows.values import fill

#: before the name of every branch of ours
BRANCH_PREFIX = "bot/"


class Acting:
    """One attempt of a step that is no agent's and no command's.

    `warnings` are tokens that stayed as they were written, in texts that people read.
    """

    def __init__(self, around: Surroundings, terms: Terms, begun: Begun, place: Place) -> None:
        self._around, self._terms, self._begun, self._place = around, terms, begun, place
        self._scope = place.scope
        self.warnings: list[str] = []

    async def code(self, step: CodeStep, seconds: float) -> Outcome:
        """Run the body with its inputs as variables."""
        return await perform_code(
            step.code,
            await given(self._around, self._terms, self._begun, step, self._place),
            cwd=self._place.workspace.path,
            env={**self._place.env, **self._around.environment(rendered_environment(step, self._scope))},
            timeout=seconds,
            sandbox=self._around.bench.sandbox,
            where=str(step.mark),
            name=step.id,
            readable=self._place.readable,
        )

    async def connector(self, step: ConnectorStep, seconds: float) -> Outcome:
        """Call the tool."""
        opened = self._around.opened(step.connector.resource)
        return await perform_connector(
            step.id,
            opened,
            step.connector.tool,
            fill(step, ("inputs",), step.inputs, self._scope).value,
            cwd=self._place.workspace.path,
            env=self._around.environment(opened.env),
            timeout=seconds,
            sandbox=self._around.bench.sandbox,
            reach=self._around.reach,
            redact=self._around.bench.redact,
        )

    async def said(self, step: NotifyStep | ReviewStep | PullRequestStep) -> Outcome:
        """What people will read, and what is done on GitHub with it."""
        match step:
            case NotifyStep():
                return self.notify(step)
            case ReviewStep():
                return await self.review(step)
            case PullRequestStep():
                return await self.pull_request(step)

    def notify(self, step: NotifyStep) -> Outcome:
        """What is to be told, and done."""
        notice = step.notify
        if self._begun.rows.dispatch.trial:
            if notice.model_fields_set - {"comment"}:
                self.warnings.append(f"{NOTE}: of `{step.id}` only the comment is said")
            return perform_notify(comment=self._said(notice, "comment"))
        labels = notice.labels
        return perform_notify(
            comment=self._said(notice, "comment"),
            labels=None
            if labels is None
            else {key: fill(labels, (key,), getattr(labels, key), self._scope).value for key in ("add", "remove")},
            assign=fill(notice, ("assign",), notice.assign, self._scope).value,
            close=notice.close,
            webhook=None
            if notice.webhook is None
            else {
                "resource": notice.webhook.resource,
                "body": self._body(notice.webhook),
            },
        )

    def _said(self, node: Node, key: str) -> str:
        """A text that people read; empty where the author gave none."""
        if not getattr(node, key):
            return ""
        rendered = node.template(key).render(self._scope)
        self.warnings.extend(rendered.warnings)
        return rendered.text

    def _body(self, target: WebhookCall) -> Any:
        filled = fill(target, ("body",), target.body, self._scope)
        self.warnings.extend(filled.warnings)
        return filled.value

    async def review(self, step: ReviewStep) -> Outcome:
        """The findings, held against the diff."""
        wanted = step.review
        found = await self._around.reviewed()
        return perform_review(
            fill(wanted, ("findings",), wanted.findings, self._scope).value,
            self._said(wanted, "body"),
            fill(wanted, ("verdict",), wanted.verdict, self._scope).value
            if "verdict" in wanted.model_fields_set
            else None,
            diff=read_diff(found.diff.text),
            known=found.known,
            head_sha=found.diff.head_sha,
            allow=wanted.allow,
            blob_url=found.blob_url,
        )

    async def pull_request(self, step: PullRequestStep) -> Outcome:
        """The pull request of this thread's branch."""
        wanted, thread = step.pull_request, self._begun.rows.thread
        if thread.is_pull_request:
            message = "this thread is a pull request already"
            raise UserError("pull_request_branch", message, "Use `pull_request` in a workflow for issues.")
        issue: dict[str, Any] = self._begun.rows.dispatch.issue
        return await perform_pull_request(
            title=self._said(wanted, "title"),
            body=self._said(wanted, "body"),
            draft=wanted.draft,
            base=wanted.base or thread.default_branch,
            branch=branch_name(BRANCH_PREFIX, thread.number, str(issue.get("title", ""))),
            issue=thread.number,
            remote=await self._around.remote(),
        )

"""A thread where none is given: a short one, the same every time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.cli.local import ThreadFile
from bot.model.role import Role
from bot.model.thread import Account, Comment, Issue, Repository
from bot.workflows import Workflow
from bot.workflows.readings import parts
from bot.workflows.step import ReviewStep
from bot.workflows.step_inputs import ChecksInput, DiffInput, ReviewThreadsInput

OPENED = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_OWNER = Account(1, "acme", "Organization")
_ANA, _SAM = Account(2, "ana"), Account(3, "sam")
_URL = "https://github.com/acme/widgets/{kind}/7"


def made_up_thread(workflow: Workflow, *, pull: bool = False) -> ThreadFile:
    """An issue with two comments; a pull request where the workflow reads one or reviews it, or its event needs one."""
    pull = pull or any(
        isinstance(one, (ReviewStep, DiffInput, ChecksInput, ReviewThreadsInput))
        for step in workflow.every_step
        for one in parts(step)
    )
    url = _URL.format(kind="pull" if pull else "issues")
    said = ((_SAM, "It happens since the last release."), (_ANA, "Please have a look."))
    comments = tuple(
        Comment(
            id=101 + place,
            author=author,
            body=text,
            created_at=OPENED + timedelta(hours=1 + place),
            updated_at=OPENED + timedelta(hours=1 + place),
            url=f"{url}#issuecomment-{101 + place}",
        )
        for place, (author, text) in enumerate(said)
    )
    issue = Issue(
        id=700,
        number=7,
        title="An example",
        body="What the thread is about stands here.",
        author=_SAM,
        state="open",
        url=url,
        labels=(),
        created_at=OPENED,
        updated_at=OPENED,
        comment_count=len(comments),
        is_pull_request=pull,
    )
    roles = {"ana": Role.WRITE, "sam": Role.READ}
    return ThreadFile(issue, comments, Repository(1, _OWNER, "widgets"), "please", roles, frozenset())

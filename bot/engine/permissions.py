"""What a workflow needs of the App's permissions, read off its steps: asked before anything of it runs. Pure.

| what                                                          | permission                                           |
|---------------------------------------------------------------|------------------------------------------------------|
| whatever is said; labels, assignees, closing                  | `issues: write`                                      |
| the same on a pull request                                    | `pull_requests: write` besides                       |
| `review`, `pull_request`                                      | `pull_requests: write`                               |
| a workspace, a file of the repository                         | `contents: read`                                     |
| inputs `diff` and `review_threads`; `wait: merged`            | `pull_requests: read`                                |
| input `checks`                                                | `checks: read`, `actions: read`                      |
| `wait: checks_completed`                                      | `checks: read`                                       |

An input that is not required fails by itself. The check of a run on a pull request (`checks: write`) is told where it
can be, and nothing depends on it.

Source: https://docs.github.com/en/rest/authentication/permissions-required-for-github-apps
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bot.engine.trials import writes
from bot.workflows import Configuration, Step, Workflow
from bot.workflows.base_step import WorkingStep
from bot.workflows.github_steps import PullRequestStep, ReviewStep
from bot.workflows.step import UsesStep, WaitStep
from bot.workflows.step_inputs import ChecksInput, DiffInput, ReviewThreadsInput

_LEVELS = ("none", "read", "write", "admin")
_PULL_READ = {"pull_requests": "read"}
_PULL_WRITE = {"pull_requests": "write"}
_INPUTS: Mapping[type, Mapping[str, str]] = {
    ChecksInput: {"checks": "read", "actions": "read"},
    DiffInput: _PULL_READ,
    ReviewThreadsInput: _PULL_READ,
}
_EVENTS: Mapping[str, Mapping[str, str]] = {"merged": _PULL_READ, "checks_completed": {"checks": "read"}}


def missing(
    configuration: Configuration,
    workflow: Workflow,
    granted: Mapping[str, str],
    *,
    pull_request: bool,
    trial: bool = False,
) -> dict[str, str]:
    """The permissions that are lacking, as `checks: read`, each with what needs it, in words.

    A trial leaves out the steps that write, and what they need.
    """
    lacking: dict[str, str] = {}
    for wanted, what in needs(configuration, workflow, pull_request=pull_request, trial=trial):
        for name, level in wanted.items():
            if _rank(granted.get(name)) < _rank(level):
                lacking.setdefault(f"{name}: {level}", what)
    # who lacks `write` of something need not hear of `read` besides
    return {
        one: what for one, what in lacking.items() if one.replace(": read", ": write") not in lacking.keys() - {one}
    }


def needs(
    configuration: Configuration, workflow: Workflow, *, pull_request: bool, trial: bool = False
) -> Iterator[tuple[Mapping[str, str], str]]:
    """Each thing that is needed, and what for."""
    yield {"issues": "write", **(_PULL_WRITE if pull_request else {})}, "what it says is posted in this thread"
    for step in _every(configuration, workflow, set()):
        if not (trial and writes(step)):
            yield from _of(step)


def _every(configuration: Configuration, workflow: Workflow, seen: set[str]) -> Iterator[Step]:
    """The steps of a workflow, and of those that it uses."""
    seen.add(workflow.called)
    for step in workflow.every_step:
        yield step
        if isinstance(step, UsesStep) and step.uses not in seen:
            used = configuration.workflow_for(step.uses)
            if used is not None:
                yield from _every(configuration, used, seen)


def _of(step: Step) -> Iterator[tuple[Mapping[str, str], str]]:
    name = f"`{step.id}`"
    match step:
        case ReviewStep():
            yield _PULL_WRITE, f"{name} posts a review"
        case PullRequestStep():
            yield _PULL_WRITE, f"{name} opens a pull request"
        case WaitStep() if (event := step.wait.event or "") in _EVENTS:
            yield _EVENTS[event], f"{name} waits for `{event}`"
    if not isinstance(step, WorkingStep):
        return
    if step.workspace != "none":
        yield {"contents": "read"}, f"{name} works on a clone of the repository"
    for key, given in (getattr(step, "inputs", None) or {}).items():
        if type(given) in _INPUTS and given.required:
            yield _INPUTS[type(given)], f"the input `{key}` of {name} is read"


def _rank(level: str | None) -> int:
    return _LEVELS.index(level) if level in _LEVELS else 0

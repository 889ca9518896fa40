"""The frames of a workflow: its own row of steps and every row within it, and what a step can see of the others. Pure.

A frame's steps lead to each other and nowhere else. A step sees what may have run before it in its own frame, and
whatever the step around it sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from bot.workflows.base_step import WorkingStep
from bot.workflows.each import Each
from bot.workflows.routes import Graph
from bot.workflows.step import GroupStep, ParallelStep, Step, bodies
from bot.workflows.workflow import Workflow


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One row of steps. `owner` is the step around it, None for the workflow's own row; `branch` its name there."""

    steps: tuple[Step, ...]
    graph: Graph
    owner: Step | None = None
    branch: str = ""
    parent: Frame | None = None

    @property
    def shares_context(self) -> bool:
        """Whether what its steps write to the run context is seen by the frame around it."""
        return isinstance(self.owner, GroupStep) and self.owner.each is None

    @property
    def repeats(self) -> bool:
        """Whether it is made again, so that what its steps wrote is there when they run once more."""
        return isinstance(self.owner, GroupStep) and self.owner.own_loop is not None


class Sight(Enum):
    """How one step looks from another."""

    SEEN = "it may have run before"
    ITSELF = "it is the step itself"
    AROUND = "it holds the step, and has not ended"
    AFTER = "it runs after the step, and not before"
    APART = "no route leads from it to the step"
    WITHIN = "it stands in a frame that the step is not in"
    UNKNOWN = "there is no such step"


@dataclass(frozen=True, slots=True)
class View:
    """What a step is to another one. `owner` is the step of their common frame that a step `WITHIN` stands in."""

    sight: Sight
    owner: Step | None = None
    #: the branch of `owner`, where it has branches
    branch: str = ""
    #: both stand in branches of `owner`
    beside: bool = False


class Frames:
    """Every frame of a workflow, outer ones before inner ones. Of two steps with one id the first counts."""

    def __init__(self, workflow: Workflow) -> None:
        self.rows: list[Frame] = []
        self._of: dict[str, tuple[Frame, Step]] = {}
        self._around: dict[str, dict[Frame, Step]] = {}
        #: by the id of an artifact: the steps that produce it
        self.artifacts: dict[str, list[str]] = {}
        todo = [Frame(workflow.steps, Graph(workflow))]
        while todo:
            frame = todo.pop(0)
            self.rows.append(frame)
            for step in frame.steps:
                self._of.setdefault(step.id, (frame, step))
                for produced in step.produces if isinstance(step, WorkingStep) else ():
                    self.artifacts.setdefault(produced.id, []).append(step.id)
                for branch, row in bodies(step).items():
                    todo.append(Frame(row, Graph(row), step, branch, frame))

    @property
    def root(self) -> Frame:
        """The workflow's own row."""
        return self.rows[0]

    def step(self, step_id: str) -> Step | None:
        """The step with this id, nested ones counted."""
        found = self._of.get(step_id)
        return found[1] if found is not None else None

    def frame(self, step_id: str) -> Frame:
        """The frame that a step stands in. Raises KeyError for an unknown id."""
        return self._of[step_id][0]

    def lineage(self, step_id: str) -> Iterator[tuple[Frame, Step]]:
        """A step with its frame, then the step around it with the frame of that, out to the workflow's own row."""
        frame, step = self._of[step_id]
        yield frame, step
        while frame.parent is not None and frame.owner is not None:
            step = frame.owner
            frame = frame.parent
            yield frame, step

    def _lines(self, step_id: str) -> dict[Frame, Step]:
        """`lineage`, to look frames up in."""
        found = self._around.get(step_id)
        if found is None:
            found = self._around[step_id] = dict(self.lineage(step_id))
        return found

    def elements(self, step_id: str, *, inside: bool = True) -> tuple[Each, ...]:
        """The `each` around a step, innermost first; its own among them if `inside`."""
        around = [step for _, step in self.lineage(step_id)]
        own = around if inside else around[1:]
        return tuple(one.each for one in own if isinstance(one, WorkingStep) and one.each is not None)

    def view(self, name: str, step: Step) -> View:
        """How the step called `name` looks from `step`."""
        if name not in self._of:
            return View(Sight.UNKNOWN)
        here = self._lines(step.id)
        inner: Frame | None = None
        for frame, one in self.lineage(name):
            mine = here.get(frame)
            if mine is None:
                inner = frame
                continue
            if inner is not None:
                beside = mine is one and isinstance(one, ParallelStep)
                return View(Sight.WITHIN, one, inner.branch, beside)
            if mine.id == one.id:
                return View(Sight.ITSELF if one.id == step.id else Sight.AROUND)
            if frame.graph.leads_to(one.id, mine.id):
                return View(Sight.SEEN)
            return View(Sight.AFTER if frame.graph.leads_to(mine.id, one.id) else Sight.APART)
        return View(Sight.APART)

    def within(self, name: str, group: Step) -> bool:
        """Whether the step called `name` stands in the group's own row, where its `until` looks from."""
        return name in self._of and self._of[name][0].owner is group

    def before(self, step: Step) -> tuple[str, ...]:
        """What a step can name: the steps before it in its own frame, then those that the step around it can name."""
        return tuple(name for frame, one in self.lineage(step.id) for name in frame.graph.upstream(one.id))

    def writes_reach(self, producer: str, step: Step, *, from_inside: bool = False) -> bool:
        """Whether what `producer` writes to the run context may be there when `step` looks.

        `from_inside`: as the `until` of a group looks, when its own steps have run.
        """
        here = self._lines(step.id)
        for frame, one in self.shared(producer):
            if from_inside and frame.owner is step:
                return True
            mine = here.get(frame)
            if mine is not None and (frame.repeats or frame.graph.leads_to(one.id, mine.id)):
                return True
        return False

    def shared(self, producer: str) -> Iterator[tuple[Frame, Step]]:
        """The frames that see what a step writes, each with the step of it that holds the producer."""
        for frame, one in self.lineage(producer):
            if isinstance(one, WorkingStep) and one.each is not None:
                return
            yield frame, one
            if not frame.shares_context:
                return

    def isolated(self, producer: str, step: Step) -> Step | None:
        """The step that keeps what `producer` writes from `step`: a `parallel`, or one with `each`; None if none does.

        Of several it is the outermost.
        """
        here = self._lines(step.id)
        keeper: Step | None = None
        for frame, one in self.lineage(producer):
            if isinstance(one, WorkingStep) and one.each is not None:
                keeper = one
            if frame in here:
                return keeper
            if not frame.shares_context:
                keeper = frame.owner
        return keeper

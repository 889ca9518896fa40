"""A run's frames as a tree: which row of steps each walks, what is inside what, and whose run context it sees. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bot.model.state import AttemptState
from bot.store.run_context import Written
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Frame
from bot.workflows import Step, Workflow
from bot.workflows.base_step import WorkingStep
from bot.workflows.step import GroupStep, ParallelStep, UsesStep

#: the workflow of that name, None where there is none
Find = Callable[[str], Workflow | None]


@dataclass(eq=False, slots=True)
class Level:
    """One frame with its row of steps. `owner` is the step in the frame above whose attempt opened it.

    `workflow` is the one whose signature, params and goal hold inside; `children` are the frames that an attempt of
    this one opened, in declared order.
    """

    frame: Frame
    steps: tuple[Step, ...]
    workflow: Workflow
    parent: Level | None = None
    owner: WorkingStep | None = None
    attempts: list[Attempt] = field(default_factory=list)
    children: dict[str, list[Level]] = field(default_factory=dict)

    @property
    def is_element(self) -> bool:
        """Whether it runs a step for one element of its `each`."""
        return self.frame.item is not None

    @property
    def is_branch(self) -> bool:
        return isinstance(self.owner, ParallelStep) and not self.is_element

    @property
    def is_used(self) -> bool:
        """Whether it runs another workflow, from which nothing outside is seen."""
        return isinstance(self.owner, UsesStep) and not self.is_element

    @property
    def isolated(self) -> bool:
        """Whether what is written inside stays inside."""
        return self.parent is None or self.is_element or self.is_branch or self.is_used

    @property
    def deferred(self) -> bool:
        """Whether others run beside it, so that what it posts has to wait for its turn."""
        return any(level.is_element or level.is_branch for level in self.lineage())

    @property
    def space(self) -> Level:
        """The frame whose run context it writes to."""
        level = self
        while not level.isolated and level.parent is not None:
            level = level.parent
        return level

    def lineage(self, *, within_workflow: bool = False) -> Iterator[Level]:
        """This frame and those it is in, innermost first; up to its workflow's outermost where that is wanted."""
        level: Level | None = self
        while level is not None:
            yield level
            if within_workflow and level.is_used:
                return
            level = level.parent

    def step(self, step_id: str) -> Step:
        """The step of this row. Raises StopIteration for an id of another."""
        return next(step for step in self.steps if step.id == step_id)

    def below(self) -> Iterator[Level]:
        """Every frame inside, in the order in which they were opened."""
        for opened in self.children.values():
            for level in opened:
                yield level
                yield from level.below()

    def succeeded(self) -> Attempt | None:
        """The attempt that this row came to last with success."""
        return next((each for each in reversed(self.attempts) if each.state is AttemptState.SUCCESS), None)


class Tree:
    """All frames of a run."""

    def __init__(self, root: Level, by_frame: dict[str, Level]) -> None:
        self.root = root
        self._by_frame = by_frame

    @classmethod
    def of(cls, rows: RunRows, workflow: Workflow, find: Find = lambda name: None) -> Tree:
        """Put the rows together; `find` gives the workflows that `uses` names.

        A frame whose step is gone from the configuration cannot be: a run keeps the configuration it began with.
        """
        root = Level(rows.root, workflow.steps, workflow)
        by_frame = {rows.root.id: root}
        openers = {attempt.id: attempt for attempt in rows.attempts}
        elements: dict[str, tuple[Step, ...]] = {}
        for frame in rows.frames:
            if frame.parent_id is None or frame.attempt_id is None:
                continue
            parent = by_frame[frame.parent_id]
            owner = parent.step(openers[frame.attempt_id].step)
            assert isinstance(owner, WorkingStep)
            if frame.item is not None:
                if frame.attempt_id not in elements:
                    elements[frame.attempt_id] = (owner.element,)
                level = Level(frame, elements[frame.attempt_id], parent.workflow, parent, owner)
            else:
                level = _level(frame, parent, owner, find)
            by_frame[frame.id] = level
            parent.children.setdefault(frame.attempt_id, []).append(level)
        for attempt in rows.attempts:
            by_frame[attempt.frame_id].attempts.append(attempt)
        for one in by_frame.values():
            for opened in one.children.values():
                opened.sort(key=lambda level: (level.frame.iteration, level.frame.place))
        return cls(root, by_frame)

    def level(self, attempt: Attempt) -> Level:
        """The frame of an attempt."""
        return self._by_frame[attempt.frame_id]

    def seen(self, level: Level, values: list[Written]) -> list[Written]:
        """The entries of the run context that a frame sees, in the order in which they were written.

        What is above stands still while a frame is open, as its row waits for it; so a snapshot needs no copy.
        """
        spaces = {one.space.frame.id for one in level.lineage(within_workflow=True)}
        # a frame that was opened since is beside this one
        frames = {name for name, one in self._by_frame.items() if one.space.frame.id in spaces}
        return [value for value in values if value.frame_id in frames]


def _level(frame: Frame, parent: Level, owner: WorkingStep, find: Find) -> Level:
    workflow = parent.workflow
    match owner:
        case GroupStep():
            steps = owner.steps
        case ParallelStep():
            steps = owner.parallel.branches[frame.key or ""]
        case UsesStep():
            used = find(frame.workflow or owner.uses)
            assert used is not None, "a workflow that is not there is refused at load"
            workflow, steps = used, used.steps
        case _:
            raise TypeError(f"a step of kind {owner.kind} opens no frame")
    return Level(frame, steps, workflow, parent, owner)


def returned(attempt: Attempt | None) -> Any:
    """What a step gives to those around it: its result, else its output."""
    if attempt is None:
        return None
    return attempt.result if attempt.result is not None else attempt.output

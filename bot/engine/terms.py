"""What a run is bound by, and an attempt that is under way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bot.engine.frames import Level, Tree
from bot.engine.graph import End
from bot.model.outcome import Intent
from bot.store import Session
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Gate
from bot.workflows import Budget, Configuration, Step, Workflow
from bot.workflows.results import BYTES_MAX

#: writes what is to be said when a run ends
Say = Callable[[Session, RunRows, End], None]
#: writes what is to be said when a step of a frame succeeded
SayStep = Callable[[Session, RunRows, Level, Step, Attempt], None]
#: writes what is to be shown of a run that has started
Started = Callable[[Session, RunRows], None]
#: writes what is to be asked in the thread, or what became of it
Ask = Callable[[Session, RunRows, Gate], None]
#: writes what is to be done on GitHub for an attempt; True: the attempt waits until it is done
Intend = Callable[[Session, RunRows, Level, Attempt, Sequence[Intent], bool], None]


def _nothing(*_: object) -> None:
    """Where nobody listens."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run is bound by: its configuration, workflow and budget, the instance's ceiling of a day; who speaks."""

    configuration: Configuration
    workflow: Workflow
    budget: Budget
    usd_day: float
    say: Say
    say_step: SayStep
    ask: Ask = _nothing
    intend: Intend = _nothing
    #: writes what is shown of a run when its first attempt starts
    started: Started = _nothing
    #: bytes of a result or an export that a schema is held against
    result_bytes: int = BYTES_MAX
    #: reminds people of what they are asked
    remind: Ask = _nothing
    #: whether what people are asked on a pull request is bound to its head, which somebody has to read then
    heads: bool = False

    def find(self, name: str) -> Workflow | None:
        """The workflow that `uses` names."""
        return self.configuration.workflow_for(name)


@dataclass(frozen=True, slots=True)
class Begun:
    """An attempt that is recorded as running, with the rows it starts from.

    `gate` is what it waited for, where it goes on after a stop; `seconds` bounds it beside the step's own time-out.
    """

    step: Step
    attempt: Attempt
    rows: RunRows
    tree: Tree
    level: Level
    gate: Gate | None = None
    seconds: float | None = field(default=None)

"""Where a step may lead: every route as an edge, and what lies before and behind each step. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.workflows.base_step import WorkingStep
from bot.workflows.conditions import Condition
from bot.workflows.gate_steps import AskStep, Back
from bot.workflows.routing import END, Loop, Rework, Verdict
from bot.workflows.step import EndStep, GroupStep, Step, SwitchStep
from bot.workflows.workflow import Workflow


class Via(StrEnum):
    """What sort of route an edge is."""

    ORDER = "order"  # the next step of the file
    NEXT = "next"  # `next: id`
    CASE = "case"  # an entry with `when`
    DEFAULT = "default"  # the entry without
    TRANSITION = "transition"  # a value of `decide`
    SKIPPED = "skipped"  # `when` of the step was false
    MISMATCH = "mismatch"  # `on_mismatch: id`
    OPTION = "option"  # an answer of a gate
    REWORK = "rework"  # `rework.to`, or an answer that sends work back
    EXHAUSTED = "exhausted"  # `on_exhaust` of a loop or rework
    END = "end"  # a step of kind `end`


@dataclass(frozen=True, slots=True)
class Edge:
    """One route from a step. `target` None is the end of the frame.

    `label` is the value of a transition or the answer of a gate; `backward` routes lead to the step itself or to one
    above it and are counted by the step's `loop`, those of `REWORK` by its `rework`.
    """

    source: str
    target: str | None
    via: Via
    condition: Condition | None = None
    label: str = ""
    backward: bool = False
    #: the key that it was written under, for messages
    key: tuple[str | int, ...] = ()


def targets(row: Workflow | Sequence[Step], step: Step) -> tuple[Edge, ...]:
    """Every route of a step, in the order in which they are tried."""
    return Graph(row).edges(step.id)


class Graph:
    """The routes of one frame: of a workflow's own steps, or of a row of steps within one.

    Ids that lead nowhere are left out of `leads_to`; edges to them are there to be checked.
    """

    def __init__(self, row: Workflow | Sequence[Step]) -> None:
        self._steps = row.steps if isinstance(row, Workflow) else tuple(row)
        self._at: dict[str, int] = {}
        for index, step in enumerate(self._steps):
            self._at.setdefault(step.id, index)
        self._edges: dict[str, tuple[Edge, ...]] = {}
        for index, step in enumerate(self._steps):
            self._edges.setdefault(step.id, tuple(self._routes(index, step)))
        self._reach = self._closure()

    @property
    def ids(self) -> tuple[str, ...]:
        """The steps of the frame, in file order."""
        return tuple(self._at)

    def __contains__(self, step_id: object) -> bool:
        return step_id in self._at

    def edges(self, step_id: str) -> tuple[Edge, ...]:
        """Every route of a step, in the order in which they are tried; none for an unknown id."""
        return self._edges.get(step_id, ())

    def default(self, step_id: str) -> Edge:
        """Where a step leads when no condition says otherwise; also what a skipped step takes.

        Raises KeyError for an unknown id.
        """
        index = self._at[step_id]
        return self._default(index, self._steps[index])

    def last(self, step_id: str) -> Edge:
        """Where `on_exhaust: last` leads: the default, or the next step of the file where the default leads back.

        Raises KeyError for an unknown id.
        """
        index = self._at[step_id]
        default = self._default(index, self._steps[index])
        return self._order(index) if default.backward else default

    def leads_to(self, source: str, target: str) -> bool:
        """Whether some row of one route or more goes from one step to the other, cycles included."""
        if source not in self._at or target not in self._at:
            return False
        return bool(self._reach[self._at[source]] >> self._at[target] & 1)

    def upstream(self, step_id: str) -> tuple[str, ...]:
        """The steps that may have run before this one, in file order, without itself."""
        return tuple(one for one in self._at if one != step_id and self.leads_to(one, step_id))

    def reachable(self) -> frozenset[str]:
        """The steps that some run can come to."""
        if not self._steps:
            return frozenset()
        mask = self._reach[0] | 1
        return frozenset(one for one, index in self._at.items() if mask >> index & 1)

    def _closure(self) -> list[int]:
        """For each step the steps behind it, as the bits of a number.

        Steps that lead to each other form a component (Tarjan 1972, without recursion); a component is closed when
        those behind it are, so that each edge is looked at once, however the routes lead back and forth.
        """
        at, count = self._at, len(self._steps)
        ways = [
            [at[edge.target] for edge in self._edges[step.id] if edge.target is not None and edge.target in at]
            for step in self._steps
        ]
        behind = [0] * count
        number = [0] * count  # the order in which steps were come to, from 1
        lowest = [0] * count
        held: list[int] = []
        is_held = [False] * count
        seen = 0
        for root in range(count):
            if number[root]:
                continue
            walk: list[tuple[int, Iterator[int]]] = []
            todo: int | None = root
            while todo is not None or walk:
                if todo is not None:
                    seen += 1
                    number[todo] = lowest[todo] = seen
                    held.append(todo)
                    is_held[todo] = True
                    walk.append((todo, iter(ways[todo])))
                here, rest = walk[-1]
                todo = None
                for other in rest:
                    if not number[other]:
                        todo = other
                        break
                    if is_held[other]:
                        lowest[here] = min(lowest[here], number[other])
                if todo is not None:
                    continue
                walk.pop()
                if walk:
                    lowest[walk[-1][0]] = min(lowest[walk[-1][0]], lowest[here])
                if lowest[here] != number[here]:
                    continue
                place = held.index(here) if held[-1] != here else len(held) - 1
                component, held[place:] = held[place:], []
                mask = 0
                for one in component:
                    is_held[one] = False
                    for other in ways[one]:
                        mask |= 1 << other | behind[other]
                for one in component:
                    behind[one] = mask
        return behind

    def _edge(
        self,
        index: int,
        to: str | None,
        via: Via,
        key: tuple[str | int, ...] = (),
        *,
        condition: Condition | None = None,
        label: str = "",
    ) -> Edge:
        target = None if to == END else to
        backward = target is not None and self._at.get(target, len(self._at)) <= index
        return Edge(self._steps[index].id, target, via, condition, label, backward, key)

    def _order(self, index: int, via: Via = Via.ORDER) -> Edge:
        following = self._steps[index + 1].id if index + 1 < len(self._steps) else None
        return self._edge(index, following, via)

    def _default(self, index: int, step: Step) -> Edge:
        if isinstance(step, EndStep) or (isinstance(step, AskStep) and step.options):
            return self._order(index)
        if not isinstance(step, SwitchStep) and isinstance(step.next, str):
            return self._edge(index, step.next, Via.NEXT, ("next",))
        if step.cases and step.cases[-1].when is None:
            key: tuple[str | int, ...] = (*_list_key(step), len(step.cases) - 1, "to")
            return self._edge(index, step.cases[-1].to, Via.DEFAULT, key)
        return self._order(index)

    def _routes(self, index: int, step: Step) -> Iterator[Edge]:
        if step.when is not None:
            default = self._default(index, step)
            yield self._edge(index, default.target or END, Via.SKIPPED, default.key)
        if isinstance(step, EndStep):
            yield self._edge(index, END, Via.END)
            return
        own = list(self._ways_on(index, step))
        if not isinstance(step, SwitchStep) and step.result is not None:
            mismatch = step.result.on_mismatch
            if mismatch not in ("fail", "retry"):
                own.append(self._edge(index, mismatch, Via.MISMATCH, ("result", "on_mismatch")))
        yield from own
        repeats = isinstance(step, GroupStep) and step.own_loop is not None
        if repeats or any(edge.backward and edge.via is not Via.REWORK for edge in own):
            yield from self._exhausted(index, step.loop, ("loop", "on_exhaust"))
        if not isinstance(step, SwitchStep) and step.rework is not None:
            several = not isinstance(step.rework.to, str)
            for place, to in enumerate(step.rework.targets):
                key = ("rework", "to", place) if several else ("rework", "to")
                yield self._edge(index, to, Via.REWORK, key)
            yield from self._exhausted(index, step.rework, ("rework", "on_exhaust"))

    def _ways_on(self, index: int, step: Step) -> Iterator[Edge]:
        assert not isinstance(step, EndStep)
        if isinstance(step, AskStep) and step.options:
            for label, option in step.options.items():
                if isinstance(option, Back):
                    yield self._edge(index, option.rework, Via.REWORK, ("options", label, "rework"), label=label)
                else:
                    yield self._edge(index, option, Via.OPTION, ("options", label), label=label)
            if step.text:
                yield self._default(index, step)
            return
        for place, case in enumerate(step.cases):
            if case.when is not None:
                key: tuple[str | int, ...] = (*_list_key(step), place, "to")
                yield self._edge(index, case.to, Via.CASE, key, condition=case.condition)
        if not isinstance(step, SwitchStep) and isinstance(step.decide, str):
            for value, to in step.transitions.items():
                yield self._edge(index, to, Via.TRANSITION, ("transitions", value), label=value)
        else:
            yield self._default(index, step)

    def _exhausted(self, index: int, bound: Loop | Rework, key: tuple[str | int, ...]) -> Iterator[Edge]:
        match bound.on_exhaust:
            case "fail":
                return
            case "last":
                default = self._default(index, self._steps[index])
                to = self._order(index).target if default.backward else default.target
                yield self._edge(index, to, Via.EXHAUSTED, key)
            case to:
                yield self._edge(index, to, Via.EXHAUSTED, key)


def _list_key(step: SwitchStep | WorkingStep) -> tuple[str, ...]:
    if isinstance(step, SwitchStep):
        return ("switch",)
    return ("decide", "cases") if isinstance(step.decide, Verdict) else ("next",)

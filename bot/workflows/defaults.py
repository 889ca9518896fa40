"""What the steps of a workflow take where neither they nor their agent say otherwise."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from bot.workflows.agent import Budget, Retry
from bot.workflows.fidelity import Fidelity, InjectionCap
from bot.workflows.node import Duration, Name, Node, fault


def _available(value: Any) -> Any:
    if value == "write":
        raise fault("not_available", "`workspace: write` is not available yet", "now there are `none` and `read`")
    return value


#: `none`: an empty folder; `read`: a clone whose tracked files return to where they were
WorkspaceMode = Annotated[
    Literal["none", "read"], BeforeValidator(_available), WithJsonSchema({"enum": ["none", "read"]})
]


class Defaults(Node):
    """What steps take where neither they nor their agent say otherwise."""

    NOUN: ClassVar[str] = "`defaults`"

    timeout: Duration | None = Field(None, description="longest time for one attempt")
    retry: Retry | None = Field(None, description="what is done about transient faults")
    budget: Budget | None = Field(None, description="most that one step may spend")
    workspace: WorkspaceMode | None = Field(None, description="whether steps see a clone of the repository")
    by: Name | None = Field(None, description="the agent that `classify` asks (`ask`)")
    fidelity: Fidelity | None = Field(None, description="how much of the run context prompts get (`full`)")
    injection_cap: InjectionCap | None = Field(None, description="bytes of each value of the run context")

"""What the steps of a workflow take where neither they nor their agent say otherwise."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from bot.workflows.agent import Budget, Retry
from bot.workflows.node import Duration, Node

#: `none`: an empty folder; `read`: a clone whose tracked files return to where they were
WorkspaceMode = Literal["none", "read"]


class Defaults(Node):
    """What steps take where neither they nor their agent say otherwise."""

    NOUN: ClassVar[str] = "`defaults`"
    LATER: ClassVar[frozenset[str]] = frozenset({"fidelity", "injection_cap", "by"})

    timeout: Duration | None = Field(None, description="longest time for one attempt")
    retry: Retry | None = Field(None, description="what is done about transient faults")
    budget: Budget | None = Field(None, description="most that one step may spend")
    workspace: WorkspaceMode | None = Field(None, description="whether steps see a clone of the repository")

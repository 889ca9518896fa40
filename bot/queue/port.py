"""What a worker needs of a queue.

Per thread first come, first served by dispatch sequence, a run that goes on to the front; threads side by side.
"""

from __future__ import annotations

from typing import Protocol


class Queue(Protocol):
    """Hands out runs whose turn it is, each to one worker."""

    @property
    def owner(self) -> str:
        """The name under which this process holds leases."""
        ...

    async def recover(self) -> int:
        """Take over the runs of dead processes; how many. Call it every few seconds."""
        ...

    async def claim(self) -> str:
        """Wait for a run whose turn it is, and return its id; it is `running`, held by this owner while that lives."""
        ...

    async def lost(self) -> set[str]:
        """Ids of the runs that other owners hold."""
        ...

"""What the front door needs of the store."""

from __future__ import annotations

from typing import Literal, Protocol

from bot.model.delivery import NewDelivery


class Inbox(Protocol):
    """Where deliveries are kept."""

    async def take(self, delivery: NewDelivery) -> Literal["accepted", "duplicate"]:
        """Insert the delivery unless one of its two identities is known; return after it is on disk.

        Whatever it raises means that nothing was accepted: the sender gets 503, and the delivery is fetched from
        GitHub's log later.
        """
        ...

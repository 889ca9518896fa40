"""Who listens to events on threads besides the mentions, and what one that GitHub refuses does to the others: nothing.

| what the ear met       | what becomes of it                                                                        |
|------------------------|-------------------------------------------------------------------------------------------|
| GitHub refuses         | logged and kept with the delivery; the others, and all that is asked for, go on           |
| the same, nothing else | the delivery has failed, so that it can be played again; not where the ear only informs   |
| GitHub does not answer | all of the delivery is looked at again; after 15 minutes what only informs is left out    |
"""

from __future__ import annotations

from collections.abc import Sequence

from bot import log
from bot.dispatch import schedules
from bot.dispatch.configuration_check import hear_configuration
from bot.dispatch.heads import hear_head
from bot.dispatch.lifecycle import hear_end, hear_unlocked
from bot.dispatch.occasion import Ear, Heard, Occasion, silent
from bot.dispatch.review_loop import changes_requested
from bot.dispatch.ticks import hear_tick
from bot.dispatch.triggers import hear_event
from bot.errors import Forbidden, NotFound, Transient
from bot.model.patience import patient

_log = log.get("dispatch")

#: in this order: what may put a delivery off, such as a push that another may follow, before what only informs of it,
#: so that GitHub is asked for that once
EARS: tuple[Ear, ...] = (
    hear_tick,
    changes_requested,
    hear_event,
    hear_head,
    hear_configuration,
    schedules.hear,
    hear_end,
    hear_unlocked,
)
#: those that tell something, and neither start nor answer anything
INFORMING = frozenset({hear_configuration, hear_head})


async def listen(ears: Sequence[Ear], occasion: Occasion) -> list[Heard]:
    """What the ears make of an event. Raises `Postponed` and `Transient` where all of it is looked at again."""
    heard: list[Heard] = []
    refused: NotFound | Forbidden | None = None
    for ear in ears:
        informs = ear in INFORMING
        try:
            found = await ear(occasion)
        except (NotFound, Forbidden) as error:
            refused = refused if informs else refused or error
            found = _left_out(occasion, ear, error)
        except Transient as error:
            if not informs or patient(occasion.delivery.trying_since, occasion.parts.clock.now()):
                raise
            found = _left_out(occasion, ear, error)
        if found is not None:
            heard.append(found)
    if refused is not None and not occasion.asked and all(one.silent for one in heard):
        raise refused
    return heard


def _left_out(occasion: Occasion, ear: Ear, error: Exception) -> Heard:
    name = getattr(ear, "__name__", str(ear))
    _log.warning("ear_refused", guid=occasion.delivery.guid, ear=name, reason=str(error))
    return silent(f"{name} was left out: {error}")

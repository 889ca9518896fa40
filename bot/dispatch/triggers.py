"""The ear for what starts workflows besides mentions: `on` of the workflows of the default branch."""

from __future__ import annotations

from collections.abc import Sequence

from bot.dispatch.acceptance import REQUESTS_MAX, Asked
from bot.dispatch.authorise import Allowed, Denied
from bot.dispatch.cause import REVIEWED, SYNCHRONIZE, Cause, caused
from bot.dispatch.commands import Command
from bot.dispatch.occasion import Heard, Occasion, Postponed, silent
from bot.dispatch.parts import Parts
from bot.dispatch.review_loop import opener
from bot.dispatch.starting import accept
from bot.model.role import Role
from bot.store import Session, dispatches
from bot.store.tables import Delivery, Thread
from bot.workflows import Configuration

#: why a push that another one followed starts nothing
SUPERSEDED = "superseded: the head has moved on"


async def hear_event(occasion: Occasion) -> Heard | None:
    """The ear: every workflow that the event starts, in the order of the file, as a mention of its sender would.

    What the sender may not start is silent; the reason stays with the delivery.
    """
    cause = await _cause(occasion)
    if cause is None:
        return None
    usable = (await occasion.configured()).configuration
    if usable is None:
        return silent(f"{cause.name}: the configuration cannot be used")
    # a mention of the same event is the request: what it names is not started a second time
    named = {one.command.name for one in occasion.asked if one.for_workflow}
    names = tuple(name for name in _listening(usable, cause, occasion) if name not in named)
    if not names:
        return None
    if cause.name == SYNCHRONIZE:
        hold(occasion.parts, occasion.delivery)
        if await _superseded(occasion):
            return silent(SUPERSEDED)
    return await started(occasion, cause, names)


async def owed(occasion: Occasion) -> bool:
    """Whether an event starts a workflow that its sender may start, without anybody's words."""
    cause = await _cause(occasion)
    usable = (await occasion.configured()).configuration if cause is not None else None
    if cause is None or usable is None or not (names := _listening(usable, cause, occasion)):
        return False
    if cause.name == SYNCHRONIZE and await _superseded(occasion):
        return False
    return bool((await _allowed(occasion, usable, cause, names))[0])


async def _cause(occasion: Occasion) -> Cause | None:
    """The trigger that an event is. Reviews of a pull request of ours are a matter of the review loop."""
    cause = caused(occasion.event)
    return None if cause is not None and cause.name == REVIEWED and await opener(occasion) is not None else cause


async def _superseded(occasion: Occasion) -> bool:
    """Whether another push came behind this one, or the end of the pull request."""
    event = occasion.event
    now = await occasion.client.pull_request(event.issue.number)
    return not now.is_open or (event.pull is not None and now.head_sha != event.pull.head_sha)


def hold(parts: Parts, delivery: Delivery) -> None:
    """Raise `Postponed` while another push may follow, whose commit is then the one to look at."""
    until = delivery.received_at + parts.debounce
    # what seems to come from the future came before the clock was set back
    if delivery.received_at <= parts.clock.now() < until:
        raise Postponed(until, "held: more pushes may follow")


def _listening(usable: Configuration, cause: Cause, occasion: Occasion) -> tuple[str, ...]:
    return listening(usable, cause.name, occasion.event.fields.get("label", ""))


def listening(usable: Configuration, name: str, label: str = "") -> tuple[str, ...]:
    """The workflows that a trigger starts, in the order of the file."""
    return tuple(each for each, workflow in usable.workflows.items() if workflow.on.heard(name, label))


async def started(occasion: Occasion, cause: Cause, names: Sequence[str], *, most: Role | None = None) -> Heard:
    """What starts those workflows: one dispatch each. Raises `Postponed` where GitHub does not tell the role now.

    `most` is the role that the event speaks for at most.
    """
    usable = (await occasion.configured()).configuration
    assert usable is not None, "nothing listens in a configuration that cannot be used"
    allowed, denied = await _allowed(occasion, usable, cause, names)
    if not allowed:
        return silent("; ".join(denied))
    acceptance = occasion.acceptance()

    def act(session: Session, thread: Thread) -> None:
        known = dispatches.caused(session, occasion.delivery.id, thread.id, cause.name)
        ordinal = max(REQUESTS_MAX, dispatches.next_ordinal(session, occasion.delivery.id))
        for place, (name, role) in enumerate(allowed, ordinal):
            if name not in known:  # the review loop has asked for it with all that was said
                speaks = most if most and role and role.at_least(most) else role
                asked = Asked(place, Command("named", name, dict(cause.cap)), speaks, cause)
                accept(session, thread, acceptance, asked, None, occasion.parts.speaker)

    reasons = [f"{cause.name}: {', '.join(name for name, _ in allowed)}", *denied]
    return Heard("; ".join(reasons), act)


async def _allowed(
    occasion: Occasion, usable: Configuration, cause: Cause, names: Sequence[str]
) -> tuple[list[tuple[str, Role | None]], list[str]]:
    """What the sender may start of those workflows, each with the role, and why not of the others."""
    allowed: list[tuple[str, Role | None]] = []
    denied: list[str] = []
    for name in names:
        match await occasion.authorised(usable.role_for(name)):
            case Allowed(role=role):
                allowed.append((name, role))
            case Denied(reason=reason):
                denied.append(f"{cause.name}: {name} was not started: {reason}")
    return allowed, denied

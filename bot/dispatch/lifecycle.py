"""Issues, repositories and installations that go: what is under way in them ends at once, with a reason.

| event                               | reason               | what happens                                    |
|-------------------------------------|----------------------|-------------------------------------------------|
| `issues.deleted`                    | `deleted`            | the thread ends, its texts are purged           |
| `issues.transferred`                | `transferred`        | the thread ends; in its new place it is another |
| `unlocked`                          |                      | open questions that were refused are shown      |
| `repository.deleted`                | `repository_removed` | its threads end                                 |
| `repository.transferred`, `renamed` |                      | they go on by the new name, if it is served     |
| `repository.archived`, `unarchived` | `archived`           | they end; what is asked later counts again      |
| `installation.deleted`              | `app_removed`        | its threads end                                 |
| `installation.suspend`, `unsuspend` | `suspended`          | they end; what is asked later counts again      |
| `installation_repositories.removed` | `repository_removed` | the threads of those repositories end           |

What has ended for a time has its schedules at rest; else those of what has ended are forgotten.

Nobody can be told in the thread: the reason stands with the run, the post and the delivery.
Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

from bot.dispatch.identity import Identity
from bot.dispatch.occasion import Heard, Occasion
from bot.model.event import Notice
from bot.model.state import OutboxState
from bot.publish.gate_comment import slot_of
from bot.store import Session, gates, lives, outbox, schedules
from bot.store.tables import Thread
from bot.workflows.triggers import next_time

#: what a thread's end is called, and told as
_THREADS: Mapping[str, tuple[str, str]] = {
    "deleted": ("deleted", "the deletion of the issue"),
    "transferred": ("transferred", "the transfer of the issue"),
}
_REMOVED = "repository_removed"


async def hear_end(occasion: Occasion) -> Heard | None:
    """An issue that is deleted or transferred."""
    event = occasion.event
    if event.name != "issues" or event.action not in _THREADS:
        return None
    reason, told = _THREADS[event.action]
    now = occasion.parts.clock.now()

    def act(session: Session, thread: Thread) -> None:
        lives.end(session, [thread], reason, told, now, at=event.at)
        if reason == "deleted":
            lives.purge(session, thread, now)

    return Heard(f"the thread ended: {reason}", act, silent=True)


async def hear_unlocked(occasion: Occasion) -> Heard | None:
    """A conversation that is unlocked: what is asked in it, and could not be shown, is shown now."""
    if occasion.event.action != "unlocked":
        return None

    def act(session: Session, thread: Thread) -> None:
        for asked in gates.open_in(session, thread.id):
            for row in outbox.parts(session, slot_of(session, asked)):
                if row.state is OutboxState.DROPPED:
                    outbox.revive(session, row)

    return Heard("the conversation was unlocked", act, silent=True)


def follow(session: Session, notice: Notice, identity: Identity, now: datetime) -> str:
    """Take over what became of repositories or an installation; in words, for the delivery."""
    act = _ACTS.get((notice.name, notice.action))
    return act(session, notice, identity, now) if act is not None else "nothing follows from it"


def _repositories_end(
    session: Session, notice: Notice, reason: str, told: str, now: datetime, *, rests: bool = False
) -> str:
    ended = 0
    for repository in notice.repositories:
        (schedules.rest if rests else schedules.forget)(session, repository_id=repository.id)
        ended += lives.end(session, lives.of_repository(session, repository.id), reason, told, now, at=notice.at)
    return f"{reason}: {ended} runs ended"


def _removed(session: Session, notice: Notice, _identity: Identity, now: datetime) -> str:
    return _repositories_end(session, notice, _REMOVED, "the removal of the repository", now)


def _archived(session: Session, notice: Notice, _identity: Identity, now: datetime) -> str:
    return _repositories_end(session, notice, "archived", "the archiving of the repository", now, rests=True)


def _unarchived(session: Session, notice: Notice, _identity: Identity, now: datetime) -> str:
    for repository in notice.repositories:
        schedules.wake(session, partial(next_time, after=now), repository_id=repository.id)
        lives.go_on(session, lives.of_repository(session, repository.id), "archived")
    return "the repository can be written to again"


def _moved(session: Session, notice: Notice, identity: Identity, now: datetime) -> str:
    for repository in notice.repositories:
        lives.rename(session, repository)
        if not identity.serves(repository.owner):
            told = "the transfer of the repository to an owner that is not served"
            return _repositories_end(session, notice, _REMOVED, told, now)
    return "the repository has another name"


def _installation_end(
    session: Session, notice: Notice, reason: str, told: str, now: datetime, *, rests: bool = False
) -> str:
    (schedules.rest if rests else schedules.forget)(session, installation_id=notice.installation_id)
    threads = lives.of_installation(session, notice.installation_id)
    return f"{reason}: {lives.end(session, threads, reason, told, now, at=notice.at)} runs ended"


def _uninstalled(session: Session, notice: Notice, _identity: Identity, now: datetime) -> str:
    return _installation_end(session, notice, "app_removed", "the removal of the App", now)


def _suspended(session: Session, notice: Notice, _identity: Identity, now: datetime) -> str:
    return _installation_end(session, notice, "suspended", "the suspension of the App", now, rests=True)


def _unsuspended(session: Session, notice: Notice, _identity: Identity, now: datetime) -> str:
    schedules.wake(session, partial(next_time, after=now), installation_id=notice.installation_id)
    lives.go_on(session, lives.of_installation(session, notice.installation_id), "suspended")
    return "the App may speak again"


_ACTS: Mapping[tuple[str, str], Callable[[Session, Notice, Identity, datetime], str]] = {
    ("repository", "deleted"): _removed,
    ("repository", "renamed"): _moved,
    ("repository", "transferred"): _moved,
    ("repository", "archived"): _archived,
    ("repository", "unarchived"): _unarchived,
    ("installation", "deleted"): _uninstalled,
    ("installation", "suspend"): _suspended,
    ("installation", "unsuspend"): _unsuspended,
    ("installation_repositories", "removed"): _removed,
}

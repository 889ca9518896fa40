"""The head that an open gate is bound to: read from GitHub, and shown anew when somebody pushes."""

from __future__ import annotations

from functools import partial

from bot.dispatch.occasion import Heard, Occasion
from bot.errors import Forbidden, NotFound
from bot.github import RepositoryClient
from bot.model.event import Event
from bot.publish import Speaker, say_gate
from bot.store import Session, gates, threads
from bot.store.answering import show
from bot.store.gates import Asked
from bot.store.tables import Thread


async def head_of(client: RepositoryClient, number: int) -> str:
    """The commit that a pull request points at now; empty where GitHub does not show it. Raises `Transient`."""
    try:
        return (await client.pull_request(number)).head_sha
    except (NotFound, Forbidden):
        return ""


async def hear_head(occasion: Occasion) -> Heard | None:
    """Show the new head below what is asked: nobody has answered, so nothing is void and nobody is asked again."""
    event, store = occasion.event, occasion.parts.store
    if event.pull is None or not event.pull.head_sha:
        return None
    if not await store.read(partial(_outdated, event, event.pull.head_sha)):
        return None
    # an event may come late: what counts is where the head is now
    head = await head_of(occasion.client, event.issue.number)
    if not head:
        return None

    def act(session: Session, thread: Thread) -> None:
        for asked in gates.open_in(session, thread.id):
            if asked.gate.head_sha not in (None, head):
                show_head(session, occasion.parts.speaker, asked, head)

    return Heard(f"the head is {head[:7]}", act, silent=True)


def show_head(session: Session, speaker: Speaker, asked: Asked, head: str) -> None:
    """An open gate is about another commit from now on, and says so."""
    show(asked.gate, head)
    session.add(asked.gate)
    session.flush()
    say_gate(session, speaker, asked)


def _outdated(event: Event, head: str, session: Session) -> bool:
    thread = threads.find(session, event.repository.id, event.issue.number)
    return thread is not None and any(
        asked.gate.head_sha not in (None, head) for asked in gates.open_in(session, thread.id)
    )

"""`checks_failed`: all checks of a pull request's head have ended, and not well."""

from __future__ import annotations

from dataclasses import replace

from bot.dispatch.caps import rest
from bot.dispatch.cause import Cause
from bot.dispatch.identity import Identity
from bot.dispatch.intended import DEPTH_MAX, actor_of
from bot.dispatch.occasion import Heard, Occasion, silent
from bot.dispatch.parts import Parts
from bot.dispatch.triggers import SUPERSEDED, hold, listening, started
from bot.dispatch.waits import Conclusion
from bot.errors import NotFound
from bot.github import RepositoryClient
from bot.model.event import Event, PullState, Signal
from bot.model.pull import PullRequest
from bot.model.slot import Slot
from bot.publish import note_body
from bot.store import Session, dispatches, outbox
from bot.store.tables import Delivery, Dispatch, Thread

NAME = "checks_failed"
#: dispatches after commits that no person pushed, until a person pushes or starts something
IN_A_ROW = 3


async def hear(
    parts: Parts,
    delivery: Delivery,
    signal: Signal,
    identity: Identity,
    client: RepositoryClient,
    conclusion: Conclusion,
) -> list[tuple[Event | None, Heard]]:
    """What the end of a check starts, by the event of each pull request that it is of. Raises `Postponed`."""
    configured = await parts.configured(client)
    usable = configured.configuration
    names = listening(usable, NAME) if usable is not None else ()
    if not names:
        return []
    concluded = await conclusion()
    if concluded != "failure":
        return []
    hold(parts, delivery)
    found: list[tuple[Event | None, Heard]] = []
    for number in signal.numbers:
        pull = await _pull(client, number)
        if pull is None or not pull.is_open or pull.head_sha != signal.sha:
            found.append((None, silent(SUPERSEDED)))
            continue
        event = await _event(signal, client, pull, concluded)
        occasion = Occasion(parts, delivery, event, identity, client, configured=configured)
        found.append((event, await _started(occasion, pull, names)))
    return found


async def _pull(client: RepositoryClient, number: int) -> PullRequest | None:
    try:
        return await client.pull_request(number)
    except NotFound:
        return None


async def _event(signal: Signal, client: RepositoryClient, pull: PullRequest, concluded: str) -> Event:
    """The end of the checks as an event on the pull request's thread."""
    return Event(
        name="checks",
        action="failed",
        at=signal.at,
        sender=signal.sender,
        repository=signal.repository,
        installation_id=signal.installation_id,
        issue=await client.issue(pull.number),
        fields={"sha": pull.head_sha, "ref": pull.head, "conclusion": concluded},
        subject="issue",
        pull=PullState(pull.head, pull.head_sha, pull.base, pull.author, pull.draft, pull.merged, pull.head_repository),
    )


async def _started(occasion: Occasion, pull: PullRequest, names: tuple[str, ...]) -> Heard:
    """The dispatches, each workflow once a commit; of our own commits in the name of whoever asked for the push."""
    event, parts, repository = occasion.event, occasion.parts, occasion.event.repository.id
    branch = None if pull.from_fork else pull.head
    ours = occasion.identity.is_me(event.sender)

    def looked(session: Session) -> tuple[list[Dispatch], Dispatch | None, dict[str, str]]:
        before = dispatches.of_pull(session, repository, pull.number, branch)
        first = dispatches.that_pushed(session, repository, pull.number, branch, pull.head_sha) if ours else None
        return before, first, rest(session, first) if first is not None else {}

    before, first, cap = await parts.store.read(looked)
    depth = 0
    if ours:
        if first is None:
            return silent(f"{NAME}: no run is known to have pushed this commit, so nobody asked for it")
        depth = min(first.depth + 1, DEPTH_MAX)
        event = replace(event, sender=actor_of(first))
        known = occasion.known
        occasion = Occasion(parts, occasion.delivery, event, occasion.identity, occasion.client, configured=known)
    told = [one for one in before if _tells(one, pull)]
    fresh = [name for name in names if name not in {one.command for one in told}]
    if not fresh:
        return silent(f"{NAME}: this commit was told of")
    sequel = depth > 0 or event.sender.is_bot
    shas = _in_a_row(before) if sequel else []
    if len(shas) >= IN_A_ROW and pull.head_sha not in shas:
        return _enough(occasion, shas)
    text = f"All checks of the head, {pull.head_sha[:7]}, have ended, and some have failed."
    return await started(occasion, Cause(NAME, text, depth, cap), fresh)


def _tells(dispatch: Dispatch, pull: PullRequest) -> bool:
    """Whether it was made for the checks of this head, on this pull request."""
    about = (dispatch.trigger.get("name"), dispatch.trigger.get("sha"), dispatch.issue.get("number"))
    return about == (NAME, pull.head_sha, pull.number)


def _in_a_row(before: list[Dispatch]) -> list[str]:
    """The commits whose checks started something, newest first, since a person last pushed or asked for something."""
    shas: list[str] = []
    for one in before:
        failed = one.trigger.get("name") == NAME
        if failed and one.trigger.get("sha") not in shas:
            shas.append(str(one.trigger.get("sha")))
        if one.depth == 0 and one.actor_role:
            break
    return shas


def _enough(occasion: Occasion, shas: list[str]) -> Heard:
    """Nothing more by itself; said once for all that follows."""
    speaker = occasion.parts.speaker

    def act(session: Session, thread: Thread) -> None:
        slot = Slot(f"thread/{thread.id}", "limit", step=f"{NAME}-{shas[-1]}")
        if outbox.find(session, slot) is None:
            body = note_body(
                f"The checks failed again. I tried {IN_A_ROW} times in a row, so I start nothing more by myself "
                "until somebody pushes or asks me."
            )
            speaker.comment(session, thread, slot, purpose="error", body=body)

    return Heard(f"{NAME}: {IN_A_ROW} in a row without a person", act, silent=True)

"""`approve`, `reject` and `answer`: which gate is meant, who may answer it, and the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bot.dispatch import shown
from bot.dispatch.acceptance import Acceptance, Act, Asked, react
from bot.dispatch.authorise import Allowed, Denied
from bot.dispatch.commands import Command, key_values
from bot.dispatch.heads import head_of, show_head
from bot.dispatch.occasion import Occasion
from bot.dispatch.replies import Prepare, Replies
from bot.errors import Transient, UserError
from bot.github import RepositoryClient
from bot.model.role import Role
from bot.model.thread import Account, Comment
from bot.publish import inline_code, note_body, say_gate
from bot.store import Session, gates, threads
from bot.store.answering import Answering, answer, became
from bot.store.gates import Asked as Gated
from bot.store.tables import Thread
from bot.workflows.answers import Person, barred, choices, spoken

#: the built-ins that answer
NAMES = frozenset({"approve", "reject", "answer"})
#: what of a gate's options is listed
_LISTED = 10


async def any_open(occasion: Occasion) -> bool:
    """Whether people are asked something in the thread of an event."""
    event = occasion.event
    return await occasion.parts.store.read(
        lambda session: gates.any_open(session, event.repository.id, event.issue.number)
    )


async def admitted(occasion: Occasion, verdict: Denied) -> Allowed | Denied:
    """Somebody who may not command here may still be one whom an open gate is for."""
    event = occasion.event
    who = person(event.sender, verdict.role)
    if who is None:
        return verdict

    def work(session: Session) -> bool:
        thread = threads.find(session, event.repository.id, event.issue.number)
        found = gates.open_in(session, thread.id) if thread is not None else []
        return any(not barred(one.gate.who, who, gates.requesters(session, one)) for one in found)

    return Allowed(who.role) if await occasion.parts.store.read(work) else verdict


def person(account: Account, role: Role | None) -> Person | None:
    """Whoever answers; None for what is no person, which never does."""
    if not account.is_person or role is None:
        return None
    return Person(account.id, account.login, role)


async def _prepare(replies: Replies, asked: Asked, acceptance: Acceptance, client: RepositoryClient) -> Act:
    """Read what an answer is held against; then find the gate, decide, and record, in one transaction."""
    event, present = acceptance.event, dict[shown.Place, Comment | None]()
    head: str | None = "" if event.issue.is_pull_request else None
    try:
        if event.issue.is_pull_request:
            head = await head_of(client, event.issue.number)
        places = await replies.store.read(partial(_places, asked, acceptance))
        present.update(await shown.read(client, places))
    except Transient:
        if shown.patient(acceptance.delivery, acceptance.now):
            raise

    def act(session: Session, thread: Thread) -> None:
        try:
            void = _answer(replies, session, thread, asked, acceptance, head, present)
        except UserError as error:
            react(session, thread, acceptance, asked, "confused", replies.speaker)
            hint = f" {error.hint}" if error.hint else ""
            said = note_body(f"{error.message[:1].upper()}{error.message[1:]}.{hint}")
            replies.say(session, thread, asked, acceptance, said)
        else:
            react(session, thread, acceptance, asked, "confused" if void else "+1", replies.speaker)

    return act


def _places(asked: Asked, acceptance: Acceptance, session: Session) -> list[shown.Place]:
    """Where the gate that is meant stands; nowhere where none is."""
    event = acceptance.event
    thread = threads.find(session, event.repository.id, event.issue.number)
    if thread is None:
        return []
    try:
        found, _ = _meant(session, thread, asked.command, acceptance.handle)
    except UserError:
        return []
    return shown.places_of(session, found)


def _answer(
    replies: Replies,
    session: Session,
    thread: Thread,
    asked: Asked,
    acceptance: Acceptance,
    head: str | None,
    present: shown.Present,
) -> bool:
    """Whether the answer was void. Raises `UserError` for one that does not count."""
    sender = acceptance.event.sender
    who = person(sender, asked.role)
    if who is None:
        raise UserError("not_allowed", f"{inline_code(sender.login)} is no person, and only people answer")
    found, text = _meant(session, thread, asked.command, acceptance.handle)
    given = _given(asked.command.name, found, text, acceptance.handle)
    stood = shown.held(session, replies.marker, thread, found, present, acceptance.event.at)
    stood.mend(session)
    by = Answering(who, "command", head, stood.altered, stood.unshown)
    try:
        counts = answer(session, found, given, by, acceptance.now)
    except UserError as error:
        if error.code == "gate_moved" and head:
            show_head(session, replies.speaker, found, head)
        if error.code == "gate_answer":
            hint = f"{error.hint} {_ways(found, acceptance.handle)}".strip()
            raise UserError(error.code, error.message, hint) from None
        raise
    say_gate(session, replies.speaker, found)
    return not counts


def _meant(session: Session, thread: Thread, command: Command, handle: str) -> tuple[Gated, str]:
    """The gate that is answered, and the words that are the answer."""
    found = gates.open_in(session, thread.id)
    if (name := command.params.get("gate")) is not None:
        named = [one for one in found if one.name.casefold() == name.casefold()]
        named = named or [one for one in found if one.is_called(name)]
        if len(named) == 1:
            return named[0], command.text
        if not named:
            raise _not_open(session, thread, name, found, handle)
        return _only(named, handle), command.text
    first, rest = (*command.text.split(maxsplit=1), "", "")[:2]
    called = first.casefold()
    named = [one for one in found if called in (one.attempt.step.casefold(), one.name.partition(".")[2].casefold())]
    if command.name == "answer":
        # `approve` may be what an option is called too: then it is the step where an option follows
        named = [one for one in named if not _is_option(one, first) or _is_option(one, rest)]
    if named:
        return _only(named, handle), rest.strip()
    return _only(found, handle), command.text


def _is_option(one: Gated, text: str) -> bool:
    """Whether words begin with an option of a gate."""
    labels = one.gate.options.get("options") or {}
    return spoken({"options": labels}, text, {}).get("answer") in labels


def _only(found: Sequence[Gated], handle: str) -> Gated:
    """The one that there is. Raises `UserError` with a list of several."""
    if not found:
        raise UserError("gate_none", "nothing waits for an answer here")
    if len(found) > 1:
        lines = [f"- {inline_code(one.name)}: {_first_line(one)}" for one in found]
        example = inline_code(f"{handle} approve {found[0].name}")
        hint = "\n\n" + "\n".join(lines) + f"\n\nSay which one: {example}."
        raise UserError("gate_several", "several questions wait for an answer here", hint)
    return found[0]


def _not_open(session: Session, thread: Thread, name: str, found: Sequence[Gated], handle: str) -> UserError:
    before = gates.called(session, thread.id, name)
    hint = f"What waits here: {', '.join(inline_code(one.name) for one in found)}." if found else ""
    if before is not None:
        return UserError("gate_settled", became(before), hint)
    return UserError("gate_none", f"there is no question {inline_code(name)} here", hint)


def _given(name: str, found: Gated, text: str, handle: str) -> dict[str, Any]:
    """The answer as `taken` reads it."""
    asked = found.gate.options
    if name == "answer":
        return spoken(asked, text, key_values(text)[0])
    if name not in (asked.get("options") or {}):
        raise UserError(
            "gate_answer", f"{inline_code(found.name)} has no option {inline_code(name)}", _ways(found, handle)
        )
    return {"answer": name, "text": text}


def _ways(found: Gated, handle: str) -> str:
    """How a gate is answered."""
    asked = found.gate.options
    if questions := asked.get("questions") or ():
        words = " ".join(f"{one['id']}=…" for one in questions)
        return f"Answer with {inline_code(f'{handle} answer {found.name} {words}')}."
    ways = [inline_code(f"{handle} answer {found.name} {choice}") for choice in choices(asked)[:_LISTED]]
    if asked.get("text"):
        ways.append(inline_code(f"{handle} answer {found.name} <your words>"))
    return f"Answer with {' or '.join(ways)}." if ways else ""


def _first_line(one: Gated) -> str:
    return inline_code(one.gate.question.strip().partition("\n")[0][:200])


PREPARES: Mapping[str, Prepare] = dict.fromkeys(NAMES, _prepare)

"""`approve`, `reject` and `answer`: which gate is meant, who may answer it, and the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from bot.dispatch import shown
from bot.dispatch.acceptance import Acceptance, Act, Asked, react
from bot.dispatch.authorise import Allowed, Denied
from bot.dispatch.builtins import BUILTINS
from bot.dispatch.commands import Command, key_values
from bot.dispatch.heads import head_of, show_head
from bot.dispatch.occasion import Occasion
from bot.dispatch.replies import Prepare, Replies
from bot.errors import Transient, UserError
from bot.github import RepositoryClient
from bot.model.patience import patient
from bot.model.role import Role
from bot.model.thread import Account, Comment
from bot.publish import inline_code, note_body, say_gate
from bot.publish.gate_comment import slot_of
from bot.store import Session, gates, outbox, threads
from bot.store.answering import Answering, answer, became
from bot.store.gates import Asked as Gated
from bot.store.tables import Thread
from bot.workflows.answers import Person, barred, choices, spoken
from bot.workflows.gate_steps import APPROVE

#: the built-ins that answer
NAMES = frozenset(each.name for each in BUILTINS if each.answers)
#: what of a gate's options is listed
_LISTED = 10
#: characters of a word that an example repeats
_WORD = 40
#: how long words behind `approve` are taken for an answer that came late
LATELY = timedelta(days=1)


def is_answer(command: Command) -> bool:
    """Whether it answers what people are asked."""
    return command.kind == "builtin" and command.name in NAMES


async def asked_lately(occasion: Occasion) -> bool:
    """Whether people are asked something in the thread of an event, or were within the last day."""
    event, since = occasion.event, occasion.parts.clock.now() - LATELY

    def work(session: Session) -> bool:
        thread = threads.find(session, event.repository.id, event.issue.number)
        return thread is not None and gates.asked_since(session, thread.id, since)

    return await occasion.parts.store.read(work)


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
    except Transient as error:
        if patient(acceptance.delivery.trying_since, acceptance.now, error):  # afterwards whoever answered is told
            raise

    def act(session: Session, thread: Thread) -> None:
        try:
            void = _answer(replies, session, thread, asked, acceptance, head, present)
        except UserError as error:
            hint = f" {error.hint}" if error.hint else ""
            said = note_body(f"{error.message[:1].upper()}{error.message[1:]}.{hint}")
            replies.not_done(session, thread, asked, acceptance, said)
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
    given = _given(session, asked.command.name, found, text, acceptance.handle)
    stood = shown.held(session, replies.marker, thread, found, present, acceptance.event.at)
    stood.mend(session)
    by = Answering(who, "command", head, stood.altered, stood.unshown)
    try:
        counts = answer(session, found, given, by, acceptance.now)
    except UserError as error:
        if error.code == "gate_moved" and head:
            show_head(session, replies.speaker, found, head)
        if error.code == "gate_answer":
            raise UserError(error.code, error.message, _ways(session, found, acceptance.handle)) from None
        raise
    say_gate(session, replies.speaker, found)
    return not counts


def _meant(session: Session, thread: Thread, command: Command, handle: str) -> tuple[Gated, str]:
    """The gate that is answered, and the words that are the answer."""
    found, text = gates.open_in(session, thread.id), command.text
    name = command.params.get("gate")
    if name is not None and command.name == "answer" and "." not in name and any(_is_option(o, name) for o in found):
        name, text = None, f"{name} {text}".strip()  # an option may be called as a run is
    if name is not None:
        whole = name.casefold()
        named = [one for one in found if whole in (one.name.casefold(), f"r{one.run.number}")]
        named = named or [one for one in found if one.is_called(name)]
        if not named:
            raise _not_open(session, thread, whole, found)
        return _only(session, thread, named, command, text, handle), text
    first, rest = (*text.split(maxsplit=1), "", "")[:2]
    called = first.casefold()
    named = [one for one in found if called in (one.attempt.step.casefold(), one.name.partition(".")[2].casefold())]
    if command.name == "answer":
        # `approve` may be what an option is called too: then it is the step where an option follows
        named = [one for one in named if not _is_option(one, first) or _is_option(one, rest)]
    if named:
        return _only(session, thread, named, command, rest, handle), rest.strip()
    return _only(session, thread, found, command, text, handle), text


def _is_option(one: Gated, text: str) -> bool:
    """Whether words begin with an option of a gate."""
    labels = one.gate.options.get("options") or {}
    return spoken({"options": labels}, text, {}).get("answer") in labels


def _only(session: Session, thread: Thread, found: Sequence[Gated], command: Command, text: str, handle: str) -> Gated:
    """The one that there is. Raises `UserError` with a list of several."""
    if not found:
        last = next(iter(gates.newest(session, thread.id)), None)
        raise UserError("gate_none", "nothing waits for an answer here", f"{became(last)}." if last else "")
    if len(found) > 1:
        lines = [
            f"- {linked(session, one)}: {_first_line(one)}, asked for by {inline_code(one.dispatch.actor)}"
            for one in found
        ]
        example = inline_code(" ".join([handle, command.name, found[0].name, *_again(command.name, text)]))
        hint = "\n\n" + "\n".join(lines) + f"\n\nSay which one: {example}."
        raise UserError("gate_several", "several questions wait for an answer here", hint)
    return found[0]


def _again(verb: str, text: str) -> list[str]:
    """The words of an answer as an example repeats them: those behind `answer` begin with what was chosen."""
    words = text.split()
    chosen = words[:1] if verb == "answer" else []
    return [*(word if len(word) <= _WORD else "…" for word in chosen), *(["…"] if len(words) > len(chosen) else [])]


def linked(session: Session, one: Gated) -> str:
    """A gate's name, with a link to its comment where that stands."""
    row = outbox.find(session, slot_of(session, one))
    return f"[{inline_code(one.name)}]({row.url})" if row is not None and row.url else inline_code(one.name)


def _not_open(session: Session, thread: Thread, name: str, found: Sequence[Gated]) -> UserError:
    """Nothing that is called so is open: what became of it, or that there is none; and what does wait."""
    waits = f"What waits here: {', '.join(linked(session, one) for one in found)}." if found else ""
    if (before := gates.called(session, thread.id, name)) is not None:
        return UserError("gate_settled", became(before), waits)
    which = inline_code(name) if "." in name else f"of {name}"
    return UserError("gate_none", f"there is no question {which} here", waits)


def _given(session: Session, name: str, found: Gated, text: str, handle: str) -> dict[str, Any]:
    """The answer as `taken` reads it. Raises `UserError` for an approval that sounds like a question."""
    asked = found.gate.options
    if name == "answer":
        return spoken(asked, text, key_values(text)[0])
    if name not in (asked.get("options") or {}):
        raise UserError("gate_answer", f"{inline_code(name)} is no option", _ways(session, found, handle))
    if name == APPROVE and text.rstrip().endswith(("?", "？")):
        hint = f"If you approve, write {inline_code(f'{handle} approve {found.name}')} without it."
        raise UserError("gate_doubt", f"that ends with a question mark, so {inline_code(found.name)} still waits", hint)
    return {"answer": name, "text": text}


def _ways(session: Session, found: Gated, handle: str) -> str:
    """How a gate is answered; by its name where others wait beside it."""
    asked, several = found.gate.options, len(gates.open_in(session, found.thread.id)) > 1
    to = " ".join([handle, "answer", *([found.name] if several else [])])
    if questions := asked.get("questions") or ():
        words = " ".join(f"{one['id']}=…" for one in questions)
        return f"Answer with {inline_code(f'{to} {words}')}."
    ways = [inline_code(f"{to} {choice}") for choice in choices(asked)[:_LISTED]]
    if asked.get("text"):
        ways.append(inline_code(f"{to} <your words>"))
    listed = " or ".join(filter(None, [", ".join(ways[:-1]), *ways[-1:]]))
    return f"Answer with {listed}." if ways else ""


def _first_line(one: Gated) -> str:
    return inline_code(one.gate.question.strip().partition("\n")[0][:200])


PREPARES: Mapping[str, Prepare] = dict.fromkeys(NAMES, _prepare)

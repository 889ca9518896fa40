"""The deeds of the built-ins: rows, reactions and answers. GitHub is asked before, never within."""

from __future__ import annotations

from functools import partial

from sqlmodel import col, select

from bot.dispatch import Identities, Parts
from bot.dispatch.actions import PREPARES, Actions
from bot.dispatch.builtins import BUILTINS
from bot.dispatch.commands import Command
from bot.engine.takeover import take_over
from bot.model.state import DispatchState, RunState
from bot.publish import Redactor, Speaker
from bot.store import Store, runs
from bot.store.tables import Dispatch, Outbox, Run
from bot.workflows import Memo, builtin_files
from tests import rows
from tests.dispatch.scene import APP_ID, MARKER, MEG, acceptance, asked, client_of, event
from tests.github.fake import FakeClock, FakeGitHub, answer, make_github
from tests.rows import NOW


async def do(store: Store, command: Command, server: FakeGitHub | None = None, number: int = 1) -> Outbox | None:
    """Perform a built-in asked by meg; returns what it said or did last."""
    fake = server or FakeGitHub()
    github, clock = make_github(fake), FakeClock(NOW)
    identities, memo = Identities(github, APP_ID, "bot", ("acme",)), Memo(builtin_files())
    parts = Parts(store, github, identities, memo, MARKER, Speaker(Redactor([]), clock), clock)
    actions = Actions(parts, take_over)
    guid = f"{command.name} {command.params} {command.text}"
    held = await store.write(lambda s: acceptance(s, event("@bot x", sender=MEG), guid=guid))
    act = await actions.prepare(asked(command), held, client_of(fake))
    if act is None:
        return None
    await store.write(lambda s: act(s, rows.thread(s, number)))
    return await store.read(lambda s: s.exec(select(Outbox).order_by(col(Outbox.id).desc())).first())


def builtin(name: str, **params: str) -> Command:
    return Command("builtin", name, params)


def test_every_builtin_has_its_deed() -> None:
    """And no deed is without its entry, so that help cannot lie."""
    assert set(PREPARES) == {each.name for each in BUILTINS}


async def test_what_is_for_a_workflow_is_no_act(store: Store) -> None:
    """A probable typo is answered instead, and nothing runs."""
    assert await do(store, Command("named", "triage")) is None
    assert await do(store, Command("default", "ask", {}, "hello")) is None
    said = await do(store, Command("default", "ask", {}, "statsu", suggestion="status"))
    assert said is not None
    assert (said.purpose, "Did you mean" in said.body) == ("command", True)


async def begun(store: Store) -> list[str]:
    """Three runs of thread 1, the first of them running, and one of thread 2."""
    for guid, number in (("a", 1), ("b", 1), ("c", 1), ("d", 2)):
        await store.write(partial(rows.run, number=number, guid=guid))
    await store.write(lambda s: runs.claim(s, "me", NOW))
    return await store.read(lambda s: [run.id for run in s.exec(select(Run).order_by(col(Run.id)))])


async def test_cancel_ends_all_of_this_thread(store: Store) -> None:
    """The running one is told to its worker, queued ones end here with a word; other threads go on."""
    await begun(store)
    bell = store.bell("cancel").count
    said = await do(store, builtin("cancel"))
    assert said is not None
    assert (said.action, said.body) == ("reaction", "+1")
    states = await store.read(
        lambda s: [(r.state, r.cancelled_by, s.get_one(Dispatch, r.dispatch_id).state) for r in s.exec(select(Run))]
    )
    assert states == [
        (RunState.RUNNING, "meg", DispatchState.QUEUED),
        (RunState.CANCELLED, "meg", DispatchState.CANCELLED),
        (RunState.CANCELLED, "meg", DispatchState.CANCELLED),
        (RunState.QUEUED, None, DispatchState.QUEUED),
    ]
    assert store.bell("cancel").count == bell + 1
    told = await store.read(
        lambda s: [(o.body, o.run_id is not None, o.sequence) for o in s.exec(select(Outbox)) if o.action == "comment"]
    )
    assert told == [
        ("r2 `ask` was cancelled by `meg`.\n\n<sub>r2 · ask</sub>", True, 2),
        ("r3 `ask` was cancelled by `meg`.\n\n<sub>r3 · ask</sub>", True, 3),
    ]


async def test_cancel_of_one_run_leaves_the_others(store: Store) -> None:
    """By the number that people see; one that is not there is told."""
    await begun(store)
    await do(store, builtin("cancel", run="r2"))
    assert await store.read(lambda s: [r.state for r in s.exec(select(Run))]) == [
        RunState.RUNNING,
        RunState.CANCELLED,
        RunState.QUEUED,
        RunState.QUEUED,
    ]
    for run, words in (
        ("r2", "r2 is not under way here; r1 and r3 are."),
        ("r9", "r9 is not under way here; r1 and r3 are."),
    ):
        said = await do(store, builtin("cancel", run=run))
        assert said is not None
        assert said.body == words


async def test_cancel_with_nothing_under_way(store: Store) -> None:
    """Is no success."""
    said = await do(store, builtin("cancel"))
    assert said is not None
    assert (said.action, said.body) == ("comment", "Nothing is under way here.")


async def test_pin_and_unpin_answer_with_a_reaction_or_the_reason(store: Store) -> None:
    """A fault of the asker's is told, not raised."""
    keep = Command("builtin", "pin", {}, "keep this")
    said = await do(store, keep)
    assert said is not None
    assert said.body == "+1"
    said = await do(store, keep)
    assert said is not None
    assert "is pinned already" in said.body
    said = await do(store, builtin("pins"))
    assert said is not None
    assert (said.action, "1. [meg" in said.body) == ("comment", True)
    said = await do(store, builtin("unpin", number="4"))
    assert said is not None
    assert "no pin 4 here" in said.body
    said = await do(store, builtin("unpin", number="1"))
    assert said is not None
    assert said.body == "+1"
    said = await do(store, builtin("pin", link="https://github.test/acme/gadgets/issues/1#issuecomment-1"))
    assert said is not None
    assert said.body.startswith("Not done: ")
    server = FakeGitHub()
    server.on("GET", "/repos/acme/widgets/issues/1/comments", answer([]))
    said = await do(store, builtin("pin"), server)
    assert said is not None
    assert "no comment before yours" in said.body

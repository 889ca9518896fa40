"""A repository's limits of a day: counted, told once, and then a reaction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from bot.dispatch import quota
from bot.model.state import DispatchState
from bot.model.thread import Account
from bot.store import Session, Store
from bot.store.tables import Spend
from bot.workflows import Limits
from tests import rows
from tests.databases import on_both
from tests.dispatch.scene import MEG, Scene
from tests.rows import ANA, NOW, REPOSITORY

pytestmark = on_both


def limits(**keys: Mapping[str, float]) -> Limits:
    """Limits with nothing in force but what is named."""
    off: dict[str, dict[str, float | None]] = {
        name: {"usd": None, "dispatches": None} for name in ("per_actor_day", "per_issue_day", "per_repo_day")
    }
    return Limits.model_validate({name: off[name] | dict(keys.get(name, {})) for name in off})


def spend(session: Session, cost: float, *, thread: int = 1, actor: Account = ANA, repository: int = 501) -> None:
    where = rows.thread(session, thread)
    session.add(
        Spend(
            installation_id=77,
            repository_id=repository,
            thread_id=where.id,
            actor_id=actor.id,
            run_id="r",
            model="m",
            cost=cost,
            at=NOW,
        )
    )


@pytest.mark.parametrize(
    ("key", "applies"),
    [
        ("per_actor_day", [(1, ANA), (2, ANA)]),
        ("per_issue_day", [(1, ANA), (1, MEG)]),
        ("per_repo_day", [(1, ANA), (1, MEG), (2, ANA), (2, MEG)]),
    ],
)
@pytest.mark.parametrize("kind", ["dispatches", "usd"])
async def test_a_limit_binds_whom_it_names(
    store: Store, key: str, applies: list[tuple[int, Account]], kind: str
) -> None:
    """At the limit, not below it, and for 24 hours; ana asked twice on thread 1 for a dollar each."""

    def asked(session: Session) -> None:
        for guid in ("a", "b"):
            rows.run(session, 1, guid=guid)
            spend(session, 1.0)
        spend(session, 50.0, repository=999, actor=Account(1, "else"), thread=3)

    await store.write(asked)

    def hit(session: Session, bound: float, later: timedelta = timedelta(0)) -> list[tuple[int, Account]]:
        rule, at, here = limits(**{key: {kind: bound}}), NOW + later, REPOSITORY.id
        return [
            (number, who)
            for number in (1, 2)
            for who in (ANA, MEG)
            if (found := quota.reached(session, here, rows.thread(session, number).id, who, rule, at)) is not None
            and found.key == key
        ]

    assert await store.write(lambda s: hit(s, 2)) == applies
    assert await store.write(lambda s: hit(s, 3)) == []
    assert await store.write(lambda s: hit(s, 2, timedelta(hours=24, seconds=1))) == []
    assert await store.write(lambda s: hit(s, 2, timedelta(hours=24))) == applies


async def test_what_is_told_names_who_and_the_key(store: Store) -> None:
    """In words for the thread."""

    def told(session: Session) -> list[str]:
        rows.run(session, 1, guid="a")
        spend(session, 1.5)
        keys = ("per_actor_day", "per_issue_day", "per_repo_day")
        rules = [limits(**{k: {"dispatches": 1}}) for k in keys] + [limits(per_repo_day={"usd": 1.5})]
        thread = rows.thread(session, 1)
        return [
            found.told for rule in rules if (found := quota.reached(session, REPOSITORY.id, thread.id, ANA, rule, NOW))
        ]

    assert await store.write(told) == [
        "ana has used up the 1 requests that `limits.per_actor_day` allows in 24 hours",
        "this thread has used up the 1 requests that `limits.per_issue_day` allows in 24 hours",
        "this repository has used up the 1 requests that `limits.per_repo_day` allows in 24 hours",
        "this repository has used up the $1.5 that `limits.per_repo_day` allows in 24 hours",
    ]
    assert REPOSITORY.id == 501


async def test_a_limit_is_told_once_a_day_and_thread(scene: Scene) -> None:
    """Then 😕; built-ins go on; the next day it is told again, another thread hears it for itself."""
    scene.configure("version: 1\nlimits: {per_repo_day: {dispatches: 1}}\n")
    await scene.says(ANA, "@bot one", comment_id=501)
    await scene.says(ANA, "@bot two", comment_id=502)
    (told,) = await scene.said()
    assert told.startswith("Nothing was started: this repository has used up the 1 requests")
    await scene.says(MEG, "@bot three", comment_id=503)
    assert (len(await scene.said()), await scene.said("reaction")) == (1, ["eyes", "confused", "confused"])
    await scene.says(MEG, "@bot three", comment_id=504, number=2)
    assert len(await scene.said()) == 2
    await scene.says(MEG, "@bot status", comment_id=505)
    assert "Under way here" in (await scene.said())[-1]
    scene.clock.advance(timedelta(hours=23, minutes=59).total_seconds())
    await scene.says(ANA, "@bot four", comment_id=506)
    assert len(await scene.said()) == 4
    scene.clock.advance(120)
    await scene.says(ANA, "@bot five", comment_id=507)
    found = {
        state: [d.trigger["text"] for d in await scene.dispatched() if d.state is state] for state in DispatchState
    }
    assert (found[DispatchState.QUEUED], found[DispatchState.REFUSED]) == (
        ["one", "five"],
        ["three", "two", "three", "four"],
    )

"""Who may command: every kind of sender with every role, and every way in which GitHub may fail to answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.dispatch.authorise import Allowed, Denied, Later, Rules, authorise
from bot.errors import Forbidden, NotFound, Transient, Unsure
from bot.model.patience import PATIENCE
from bot.model.role import Role
from bot.model.thread import GHOST, Account, Repository

NOW = datetime(2025, 11, 3, 10, tzinfo=UTC)
ANA = Account(11, "ana")
REPOSITORY = Repository(101, Account(10, "sam", "Organization"), "widgets")
OWN = Account(70, "threadsmith[bot]", "Bot")
OTHER_BOT = Account(80, "deploy[bot]", "Bot")


class FixedRoles:
    """Gives one answer, or raises one error, and counts how often it was asked."""

    def __init__(self, answer: Role | Exception) -> None:
        self.answer = answer
        self.asked: list[int] = []

    async def role(self, repository: Repository, account: Account) -> Role:
        assert repository is REPOSITORY
        self.asked.append(account.id)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def rules(needed: Role = Role.WRITE, *bots: int) -> Rules:
    return Rules(needed, "Threadsmith[bot]", {OWN.id}, bots)


@pytest.mark.parametrize("needed", list(Role))
@pytest.mark.parametrize("role", list(Role))
async def test_a_persons_role_decides(role: Role, needed: Role) -> None:
    """At least the trigger role is allowed, and nobody without any access, whatever the trigger role is."""
    verdict = await authorise(FixedRoles(role), REPOSITORY, ANA, rules(needed), since=NOW, now=NOW)
    order = ["none", "read", "triage", "write", "maintain", "admin"]
    if order.index(role) >= max(order.index(needed), 1):
        assert verdict == Allowed(role)
    else:
        assert isinstance(verdict, Denied)
        assert (verdict.role, role.value in verdict.reason) == (role, True)


@pytest.mark.parametrize("allowed", [(), (80,), (81,), (70, 71, 80)])
@pytest.mark.parametrize(
    "sender",
    [
        OTHER_BOT,
        Account(80, "deploy", "Bot"),
        Account(80, "deploy[bot]"),
        OWN,
        Account(70, "renamed[bot]", "Bot"),
        Account(71, "ThreadSmith[bot]", "Bot"),
        GHOST,
        Account(12, "sam", "Organization"),
        Account(13, "import", "Mannequin"),
    ],
)
async def test_who_is_no_person_is_never_asked_about(sender: Account, allowed: tuple[int, ...]) -> None:
    """Other bots by numeric id alone; the bot itself never, even if it is listed; nobody else."""
    roles = FixedRoles(Role.ADMIN)
    verdict = await authorise(roles, REPOSITORY, sender, rules(Role.READ, *allowed), since=NOW, now=NOW)
    if sender.id == 80 and 80 in allowed:
        assert verdict == Allowed(None)
    else:
        assert isinstance(verdict, Denied)
    assert roles.asked == []


async def test_a_person_on_the_list_of_bots_needs_the_role() -> None:
    """`allow_bots` is for bots."""
    verdict = await authorise(FixedRoles(Role.READ), REPOSITORY, ANA, rules(Role.WRITE, ANA.id), since=NOW, now=NOW)
    assert isinstance(verdict, Denied)


@pytest.mark.parametrize("error", [NotFound("404"), Forbidden("no", 403), Forbidden("no", 422)])
@pytest.mark.parametrize("waited", [timedelta(0), PATIENCE])
async def test_a_definite_no_denies(error: Exception, waited: timedelta) -> None:
    """404 and 403 are answers; nothing is tried again."""
    verdict = await authorise(FixedRoles(error), REPOSITORY, ANA, rules(), since=NOW, now=NOW + waited)
    assert isinstance(verdict, Denied)


FAULTS = [
    Transient("502"),
    Transient("limited", 30, limited=True),
    Transient("limited", -5, limited=True),
    Unsure("lost"),
    TimeoutError(),
]


@pytest.mark.parametrize("error", FAULTS)
async def test_no_answer_is_asked_for_ever_more_rarely_until_patience_ends(error: Exception) -> None:
    """The tries become rarer, honour what GitHub asks for, the last is at the deadline, and then it is a no."""
    minutes = 120 if isinstance(error, Transient) and error.limited else 15
    # seven while the delays double up to two minutes, then one every two
    most = 7 + minutes // 2
    roles = FixedRoles(error)
    now, delays = NOW, []
    while isinstance(verdict := await authorise(roles, REPOSITORY, ANA, rules(), since=NOW, now=now), Later):
        delays.append((verdict.not_before - now).total_seconds())
        now = verdict.not_before
        assert len(delays) <= most
    assert isinstance(verdict, Denied)
    assert f"within {minutes} minutes" in verdict.reason
    assert now == NOW + timedelta(minutes=minutes)
    least = max(getattr(error, "retry_after", None) or 0, 2)
    assert delays[0] == least
    assert all(least <= delay <= 120 for delay in delays[:-1])
    assert len(roles.asked) == len(delays) + 1


@pytest.mark.parametrize("after", [901, 3600, 1e15])
async def test_a_limit_that_outlasts_the_15_minutes_is_a_no(after: float) -> None:
    """Asking before GitHub allows it would only make it worse."""
    verdict = await authorise(FixedRoles(Transient("limited", after)), REPOSITORY, ANA, rules(), since=NOW, now=NOW)
    assert isinstance(verdict, Denied)


async def test_a_late_yes_is_a_yes() -> None:
    """What is answered in the end counts, however long it took."""
    verdict = await authorise(FixedRoles(Role.WRITE), REPOSITORY, ANA, rules(), since=NOW, now=NOW + PATIENCE)
    assert verdict == Allowed(Role.WRITE)


async def test_a_bug_of_ours_lets_nobody_in() -> None:
    """An error that is none of GitHub's is raised, never taken for an answer."""
    with pytest.raises(ZeroDivisionError):
        await authorise(FixedRoles(ZeroDivisionError()), REPOSITORY, ANA, rules(), since=NOW, now=NOW)

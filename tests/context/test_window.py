"""Who is seen by which step."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.context import Anchor, Message, PinnedComment, ThreadSnapshot, WindowPolicy, authors_needed, select
from bot.model.role import Role
from bot.model.thread import GHOST, Account
from tests.context.threads import ANA, BOT, CI, MEG, ROLES, SAM, START, Thread, comment, issue, moment, read

WRITERS = WindowPolicy(public=True, writes=True, asked_by=Role.WRITE)


async def mixed(**more: object) -> ThreadSnapshot:
    """Writers first, then a flood by a reader, then the bot and the mention."""
    flood = [comment(n, author=SAM) for n in range(4, 16)]
    writers = [comment(1), comment(2, author=MEG), comment(3, author=MEG)]
    newest = [comment(16, "result: done", BOT), comment(17, "ci", CI), comment(18, "@bot go", MEG)]
    thread = Thread([*writers, *flood, *newest])
    return await read(thread, thread.items[-1], **({"reach": 20} | more))  # type: ignore[arg-type]  # passed on


def ids(snapshot: ThreadSnapshot, policy: WindowPolicy) -> list[int]:
    return [shown.message.id for shown in select(snapshot, policy, ROLES).comments]


async def test_reach() -> None:
    """Past twice the window a step of writers only does not look unless it was told to when the thread was read."""
    assert ids(await mixed(reach=None), WRITERS) == [16]
    assert ids(await mixed(reach=16), WRITERS) == [1, 2, 3, 16]


@pytest.mark.parametrize(
    ("policy", "narrow"),
    [
        (WindowPolicy(public=True), False),
        (WindowPolicy(writes=True, secrets=True, network=True), False),
        (WindowPolicy(public=True, writes=True), True),
        (WindowPolicy(public=True, secrets=True), True),
        (WindowPolicy(public=True, network=True), True),
        (WindowPolicy(authors="writers"), True),
        (WindowPolicy(authors="any", public=True, writes=True), False),
        (WindowPolicy(authors="readers", public=True, writes=True), False),
    ],
)
async def test_who_is_seen(policy: WindowPolicy, narrow: bool) -> None:
    """A risky step in a public repository sees only writers and the bot; any other step everybody, labelled."""
    snapshot = await mixed()
    assert ids(snapshot, policy) == ([1, 2, 3, 16] if narrow else [12, 13, 14, 15, 16])


async def test_left_out_stands_in_the_records() -> None:
    """Below trust, by name; nobody can push the maintainers' words out by writing much."""
    selection = select(await mixed(), WRITERS, ROLES)
    fates = {record.id: record.fate for record in selection.records}
    assert [n for n, fate in fates.items() if fate == "below trust"] == list(range(4, 16))
    assert fates[17] == "other bot"
    assert selection.authors == "writers (auto: public repository, and the step can write)"


async def test_labels() -> None:
    """Every comment carries its author's role; the bot's own words come from anybody's."""
    selection = select(await mixed(), WindowPolicy(14), ROLES)
    labels = {shown.message.id: (shown.role, shown.trust) for shown in selection.comments}
    assert labels[3] == ("write", "writer")
    assert labels[4] == ("read", "reader")
    assert labels[16] == ("bot", "untrusted")


async def test_ghost_has_no_role() -> None:
    """Not even if somebody had the id 0."""
    thread = Thread([comment(1, author=GHOST), comment(2, "@bot go", MEG)])
    snapshot = await read(thread, thread.items[-1])
    selection = select(snapshot, WindowPolicy(), {**ROLES, 0: Role.ADMIN})
    assert (selection.comments[0].role, selection.comments[0].trust) == ("none", "untrusted")
    assert select(snapshot, WRITERS, {**ROLES, 0: Role.ADMIN}).comments == ()


@pytest.mark.parametrize(("bots", "expected"), [("roster", [15, 16]), ("all", [16, 17]), ("none", [14, 15])])
async def test_bots(bots: Literal["roster", "all", "none"], expected: list[int]) -> None:
    """Our results, other bots too, or none."""
    assert ids(await mixed(), WindowPolicy(2, "any", bots)) == expected


async def test_a_writers_mention_vouches_for_the_body() -> None:
    """The issue's author is a reader; whoever asked decides."""
    snapshot = await mixed()
    assert select(snapshot, WRITERS, ROLES).body
    asked_by_reader = WindowPolicy(public=True, writes=True, asked_by=Role.TRIAGE)
    left_out = select(snapshot, asked_by_reader, ROLES)
    assert not left_out.body
    assert "issue body by sam: below trust" in left_out.notes
    assert select(snapshot, asked_by_reader, {**ROLES, SAM.id: Role.WRITE}).body
    assert select(snapshot, WindowPolicy(), ROLES).body


@pytest.mark.parametrize(
    ("role", "native", "seen"), [(Role.WRITE, False, True), (Role.TRIAGE, False, False), (None, True, True)]
)
async def test_a_writers_pin_vouches_for_the_comment(role: Role | None, native: bool, seen: bool) -> None:
    """A reader's comment pinned by a writer is seen by every step; pinned by less it is not seen by a risky one."""
    pins = [PinnedComment(comment(5, author=SAM), "meg", moment(6), native=native, role=role)]
    snapshot = await mixed(pins=pins)
    selection = select(snapshot, WRITERS, ROLES)
    assert [shown.message.id for shown in selection.pins] == ([5] if seen else [])
    assert {r.id: r.fate for r in selection.records}[5] == ("pinned" if seen else "below trust")
    assert [shown.message.id for shown in select(snapshot, WindowPolicy(), ROLES).pins] == [5]


async def test_pinned_request_appears_once() -> None:
    """The triggering comment has its own block."""
    snapshot = await mixed(pins=[PinnedComment(comment(18, "@bot go", MEG), "meg", moment(18), role=Role.WRITE)])
    selection = select(snapshot, WRITERS, ROLES)
    assert selection.pins == ()
    assert {r.id: r.fate for r in selection.records}[18] == "request"


async def test_authors_needed() -> None:
    """Only of those who could be shown; further back once it is known who is left out."""
    snapshot = await mixed()
    assert authors_needed(snapshot, WindowPolicy(0)) == {SAM}  # the issue's author
    assert authors_needed(snapshot, WRITERS) == {SAM}
    assert authors_needed(snapshot, WRITERS, {SAM.id: Role.READ}) == {ANA, MEG}
    assert authors_needed(snapshot, WRITERS, ROLES) == set()
    assert authors_needed(snapshot, WindowPolicy(), {SAM.id: Role.READ}) == set()


async def test_unknown_role_fails_closed() -> None:
    """Nobody was asked: a risky step sees the bot alone."""
    assert [shown.message.id for shown in select(await mixed(), WRITERS, {}).comments] == [16]


_PEOPLE = [ANA, MEG, SAM, GHOST, BOT, CI]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(_PEOPLE), st.sampled_from(["", "", "minimised", "deleted"])), max_size=25),
    st.integers(0, 8),
    st.sampled_from([WRITERS, WindowPolicy(), WindowPolicy(authors="readers", bots="all"), WindowPolicy(bots="none")]),
)
def test_every_candidate_has_one_fate(people: list[tuple[Account, str]], count: int, policy: WindowPolicy) -> None:
    """Shown ones are the newest that may be; each is recorded once; nothing below the line gets through."""
    policy = WindowPolicy(
        count, policy.authors, policy.bots, policy.public, policy.writes, policy.secrets, policy.network
    )
    messages = tuple(
        Message(n, who, moment(n), moment(n), 3, "abc", purpose="result" if who is BOT else None, out=out)
        for n, (who, out) in enumerate(people, 1)
    )
    snapshot = ThreadSnapshot(issue(len(people)), (), Anchor(None, START), count, messages, ())
    selection = select(snapshot, policy, ROLES)
    fates = {record.id: record.fate for record in selection.records}
    shown = [entry.message.id for entry in selection.comments]
    assert [record.id for record in selection.records] == [message.id for message in messages]
    assert shown == sorted(n for n, fate in fates.items() if fate == "included")
    assert len(shown) <= count
    for message in messages:
        allowed = message.purpose == "result" or ROLES.get(message.author.id, Role.NONE).at_least(policy.least)
        if fates[message.id] == "included":
            assert allowed
            assert not message.out
        elif fates[message.id] == "beyond window":
            assert len(shown) == count
            assert message.id < min(shown, default=1_000)

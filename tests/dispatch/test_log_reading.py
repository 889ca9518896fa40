"""GitHub's log of deliveries: what is missing here is found, and taken once, the oldest first."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import col, select

from bot.dispatch.log_reading import KEPT, LogReading
from bot.errors import NotFound, Transient
from bot.store import Session, Store, deliveries
from bot.store.tables import Delivery
from bot.webhook import admit, content_key
from tests.dispatch.hook_log import NOW, WrittenLog, ours
from tests.dispatch.scene import APP_ID
from tests.github.fake import FakeClock
from tests.webhook.senders import comment_payload

HOUR = timedelta(hours=1)


def reading(store: Store, log: WrittenLog, **options: object) -> LogReading:
    """A reading that goes back a day."""
    values: dict[str, object] = {"since": NOW - timedelta(days=1)} | options
    return LogReading(store, log, APP_ID, admit, FakeClock(NOW), **values)  # type: ignore[arg-type]


async def kept(store: Store) -> list[Delivery]:
    """What is in the inbox, in the order it came in."""
    query = select(Delivery).order_by(col(Delivery.id))
    return await store.read(lambda session: list(session.exec(query)))


async def webhook(store: Store, guid: str, **more: Any) -> None:
    """A delivery that arrived as GitHub sends it: with spaces, keys in another order."""
    payload = dict(reversed(comment_payload(**more).items()))
    raw = json.dumps(payload, indent=1).encode()
    new = admit(payload, raw, guid=guid, event="issue_comment", headers={}, app_id=APP_ID)
    assert new is not None
    made = new

    def take(session: Session) -> str:
        return deliveries.take(session, made, NOW)

    assert await store.write(take) == "accepted"


async def test_what_nobody_took_is_taken_once(store: Store) -> None:
    """Several attempts are one delivery; one that was answered at last is here already."""
    log = WrittenLog()
    for minutes in (9, 7, 5):
        log.add("g1", ago=timedelta(minutes=minutes), code=504, comment_id=1)
    log.add("g2", ago=timedelta(minutes=8), comment_id=2)
    log.add("g2", ago=timedelta(minutes=6), code=202, answer=ours("accepted"), comment_id=2)
    await webhook(store, "g2", id=2)
    one = reading(store, log)
    assert await one.list(1)
    assert [(each.guid, each.at, each.status) for each in one.missing()] == [
        ("g1", NOW - timedelta(minutes=9), "504 failed")
    ]
    assert await one.take(10)
    assert (len(log.asked), dict(one.tally)) == (1, {"taken": 1})
    row = (await kept(store))[-1]
    assert (row.guid, row.origin, row.event, row.action, row.repository_id) == (
        "g1", "log", "issue_comment", "created", 101,
    )  # fmt: skip
    assert json.loads(row.body)["comment"]["id"] == 1
    # the signature was GitHub's of other bytes
    assert "x-hub-signature-256" not in row.headers
    assert row.headers["x-github-delivery"] == "g1"
    again = reading(store, log)
    await again.list(1)
    assert again.missing() == []


async def test_the_oldest_comes_first(store: Store) -> None:
    """A thread keeps its order, however the pages lie."""
    log = WrittenLog(size=2)
    for number in range(5):
        log.add(f"g{number}", ago=timedelta(minutes=10 + number))
    one = reading(store, log)
    assert not await one.list(2)
    assert one.reached is None
    assert await one.list(2)
    assert log.pages == 3
    assert not await one.take(2)
    assert [row.guid for row in await kept(store)] == ["g4", "g3"]
    assert one.reached == NOW - timedelta(minutes=12)
    assert await one.take(10)
    assert [row.guid for row in await kept(store)] == ["g4", "g3", "g2", "g1", "g0"]
    assert one.reached == NOW


async def test_within_a_second_the_first_attempts_decide(store: Store) -> None:
    """Not the newest, which somebody asked for by hand."""
    log = WrittenLog()
    log.add("g1")
    log.add("g2")
    log.add("g1", ago=timedelta(minutes=1))
    one = reading(store, log)
    await one.list(1)
    assert await one.take(10)
    assert ([row.guid for row in await kept(store)], log.asked) == (["g1", "g2"], [1002, 1001])


async def test_it_goes_back_to_where_the_last_one_began_and_no_further(store: Store) -> None:
    """Pages behind that are not asked for; without a landmark, three days."""
    log = WrittenLog(size=1)
    for number, ago in enumerate((HOUR, 2 * HOUR, 5 * HOUR, KEPT - HOUR, KEPT + HOUR, KEPT + 2 * HOUR)):
        log.add(f"g{number}", ago=ago)
    one = reading(store, log, since=NOW - 3 * HOUR)
    assert await one.list(10)
    assert ([each.guid for each in one.missing()], log.pages) == (["g1", "g0"], 3)
    log.pages = 0
    one = reading(store, log, since=None)
    assert await one.list(10)
    assert ([each.guid for each in one.missing()], log.pages) == (["g3", "g2", "g1", "g0"], 5)


@pytest.mark.parametrize(
    ("answer", "words", "taken"),
    [
        ("<html>We are back soon</html>", "taken", True),
        ("", "taken", True),
        ('{"status": "accepted"}', "taken", True),
        ("[1]", "taken", True),
        (ours("duplicate"), "left", False),
        (ours("ignored"), "left", False),
        (ours("accepted"), "accepted", False),
    ],
)
async def test_a_2xx_that_led_to_nothing_here(store: Store, answer: str, words: str, taken: bool) -> None:
    """Somebody else's answer was no acceptance. Our own was: what it led to may stand in the thread."""
    log = WrittenLog()
    log.add("g", code=200, answer=answer)
    one = reading(store, log)
    await one.list(1)
    assert await one.take(1)
    assert one.tally[words] == 1
    assert (len(await kept(store)) == 1) is taken


@pytest.mark.parametrize(
    ("attempts", "became"),
    [
        ([(202, ours("accepted")), (502, "")], "accepted"),
        ([(502, ""), (202, ours("accepted")), (502, "<html>")], "accepted"),
        ([(202, ours("accepted")), (202, ours("duplicate"))], "accepted"),
        ([(202, ours("accepted")), (200, "<html>We are back soon</html>")], "accepted"),
        ([(200, "<html>We are back soon</html>"), (202, ours("accepted"))], "accepted"),
        ([(202, ours("duplicate")), (502, "")], "left"),
        ([(200, "<html>We are back soon</html>"), (502, "")], "taken"),
    ],
)
async def test_what_was_answered_and_sent_again(store: Store, attempts: list[tuple[int, str]], became: str) -> None:
    """What we said to any attempt counts, whatever a later one met."""
    log = WrittenLog()
    for number, (code, answer) in enumerate(attempts):
        log.add("g", code=code, answer=answer, ago=HOUR - timedelta(minutes=number))
    one = reading(store, log)
    await one.list(1)
    assert await one.take(1)
    assert dict(one.tally) == {became: 1}
    assert len(log.asked) == sum(code < 300 for code, _ in attempts)


async def test_what_was_accepted_and_lost_is_taken_only_if_somebody_says_so(store: Store) -> None:
    """`redeliver --accepted`."""
    log = WrittenLog()
    log.add("g", code=202, answer=ours("accepted"))
    one = reading(store, log, answered=False, accepted=True)
    await one.list(1)
    assert await one.take(1)
    assert [row.guid for row in await kept(store)] == ["g"]


async def test_before_the_first_reading_what_was_answered_is_anothers(store: Store) -> None:
    """A new database answers nothing that an older one has answered, but takes what nobody did."""
    log = WrittenLog()
    log.add("theirs", code=200, answer="OK", ago=2 * HOUR)
    log.add("theirs", code=500, ago=HOUR)
    log.add("nobodys", code=302)
    one = reading(store, log, since=None, answered=False)
    await one.list(1)
    assert [each.guid for each in one.missing()] == ["nobodys"]


async def test_what_nobody_acts_on_is_not_asked_for(store: Store) -> None:
    """A ping, an unknown event, an action that means nothing; one whose body is another event's is left."""
    log = WrittenLog()
    log.add("g1", event="ping", action="")
    log.add("g2", event="star", action="created")
    log.add("g3", event="issues", action="milestoned")
    log.add("g4", event="issues", action="opened")
    log.add("g5", event="push", action="", payload={"zen": "x"})
    one = reading(store, log)
    await one.list(1)
    assert [each.name for each in one.missing()] == ["issues.opened", "push"]
    assert await one.take(10)
    assert (one.tally["left"], await kept(store)) == (2, [])


async def test_a_payload_that_github_does_not_show(store: Store) -> None:
    """The others come in all the same."""
    log = WrittenLog()
    gone, empty = log.add("gone", ago=3 * HOUR), log.add("empty", ago=2 * HOUR)
    log.add("there", ago=HOUR)
    log.requests[empty.id] = type(log.requests[empty.id])(None, {})
    log.faults = []
    one = reading(store, log)
    await one.list(1)
    log.faults = [NotFound("gone")]
    assert await one.take(10)
    assert log.asked[0] == gone.id
    assert dict(one.tally) == {"gone": 1, "left": 1, "taken": 1}


async def test_what_arrives_meanwhile_is_no_double(store: Store) -> None:
    """By GUID it is not even asked for; under another GUID its content is known, whatever the bytes."""
    log = WrittenLog()
    log.add("g1", ago=2 * HOUR, comment_id=1)
    log.add("g2", ago=HOUR, comment_id=2)
    one = reading(store, log)
    await one.list(1)
    await webhook(store, "g1", id=1)
    await webhook(store, "other", id=2)
    assert await one.take(10)
    assert (one.tally["duplicate"], len(log.asked), len(await kept(store))) == (2, 1, 2)


def test_the_content_is_the_same_for_payload_and_bytes() -> None:
    """Edits too, whose identity is made of more than the number."""
    payload = comment_payload(text="@bot ✓ 😀 é") | {"action": "edited", "changes": {"body": {"from": "x"}}}
    kept_text = json.dumps(payload, separators=(",", ":")).encode()
    sent = json.dumps(dict(reversed(payload.items())), ensure_ascii=False, indent=2).encode()
    assert content_key(json.loads(kept_text)) == content_key(json.loads(sent))


async def test_a_fault_ends_it_early_and_it_goes_on(store: Store) -> None:
    """What was taken is kept, and not asked for again."""
    log = WrittenLog()
    for number in range(3):
        log.add(f"g{number}", ago=timedelta(minutes=30 - number))
    one = reading(store, log)
    await one.list(1)
    assert not await one.take(1)
    log.faults = [Transient("limit", 60, limited=True)] * 5
    for _ in range(5):
        with pytest.raises(Transient):
            await one.take(10)
    assert await one.take(10)
    assert [row.guid for row in await kept(store)] == ["g0", "g1", "g2"]


async def test_one_that_github_fails_to_show_holds_up_nobody(store: Store) -> None:
    """After three tries the others go on without it."""
    log = WrittenLog()
    log.add("bad", ago=2 * HOUR)
    log.add("good", ago=HOUR)
    one = reading(store, log)
    await one.list(1)
    for _ in range(2):
        log.faults = [Transient("500")]
        with pytest.raises(Transient):
            await one.take(10)
    log.faults = [Transient("500")]
    assert await one.take(10)
    assert dict(one.tally) == {"given up": 1, "taken": 1}


async def test_more_than_it_remembers(store: Store) -> None:
    """The oldest are kept; what comes later is left to the next reading, which begins there."""
    log = WrittenLog(size=3)
    for number in range(9):
        log.add(f"g{number}", ago=timedelta(minutes=60 - number))
    one = reading(store, log, most=4)
    assert await one.list(10)
    assert [each.guid for each in one.missing()] == ["g0", "g1", "g2", "g3"]
    assert await one.take(10)
    assert one.reached == NOW - timedelta(minutes=56)

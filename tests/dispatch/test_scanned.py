"""A text that a scan and a webhook tell of: what the second is compared with."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.dispatch.scanned import text_before
from bot.model.state import DeliveryState
from bot.store import Session, Store, deliveries, threads
from bot.store.tables import Delivery
from tests.dispatch.scene import APP_ID, comment, event
from tests.rows import ANA, NOW, REPOSITORY

LATER = NOW + timedelta(minutes=1)


def row(guid: str, action: str, text: str, origin: str, *, state: DeliveryState = DeliveryState.IGNORED) -> Delivery:
    """A delivery about the comment 501, looked at or not."""
    said = {"id": 501, "body": text, "updated_at": NOW.isoformat()}
    return Delivery(
        app_id=APP_ID, guid=guid, content_key=guid, event="issue_comment", action=action,
        repository_id=REPOSITORY.id, comment_id=501, number=1, body=json.dumps({"comment": said}).encode(),
        received_at=NOW, origin=origin, state=state,
    )  # fmt: skip


@pytest.mark.parametrize("state", [DeliveryState.IGNORED, DeliveryState.NEW])
async def test_a_scan_after_a_webhook(store: Store, state: DeliveryState) -> None:
    """What was heard is compared with as it stands by now; what nobody looked at yet says nothing."""
    said = replace(comment(501, "@bot a"), updated_at=NOW)
    told = event("@bot a\n\n@bot b", sender=ANA, said=said)

    def work(session: Session) -> str | None:
        thread = threads.ensure(session, told.repository, told.issue, told.installation_id)
        threads.remember(session, thread.id, said, NOW)
        session.add(row("webhook", "edited", "@bot a", "webhook", state=state))
        scan = row("scan", "created", told.text, "scan", state=DeliveryState.NEW)
        session.add(scan)
        session.flush()
        return text_before(session, scan, told)

    assert await store.write(work) == ("@bot a" if state is DeliveryState.IGNORED else None)


@pytest.mark.parametrize(
    ("text", "at", "before"),
    [
        ("@bot seen", NOW, "@bot seen"),
        ("@bot earlier", NOW - timedelta(seconds=1), "@bot earlier"),
        ("@bot other", NOW, "old"),
        ("@bot later", LATER, "old"),
    ],
)
async def test_an_edit_after_a_scan(store: Store, text: str, at: object, before: str) -> None:
    """What the scan has seen, or something older, is nothing new; what came after is compared as usual."""
    said = replace(comment(501, text), updated_at=at)  # type: ignore[arg-type]
    told = replace(event(text, action="edited", said=said), old_text="old")

    def work(session: Session) -> str | None:
        session.add(row("scan", "created", "@bot seen", "scan"))
        late = row("late", "edited", text, "webhook", state=DeliveryState.NEW)
        session.add(late)
        session.flush()
        assert deliveries.heard(session, REPOSITORY.id, 1, 501, besides="")
        return text_before(session, late, told)

    assert await store.write(work) == before

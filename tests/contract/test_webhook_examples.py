"""Payloads of the look-alike have every key that GitHub's own examples of the same event and action agree on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.demo.reviews import Remark
from tests.contract.pull_routes import with_pull
from tests.demo.scene import Scene, scene
from tests.webhook import senders

#: objects of a payload whose keys are compared; those that REST gives too are compared with its description elsewhere
_PARTS = ("review", "comment", "check_suite", "check_run", "changes")
#: keys that an account has or has not, and fields that GitHub has dropped since the examples were made
_OPTIONAL = frozenset({"installation", "organization", "enterprise"})
_GONE = {"check_run": {"deployment"}, "comment": {"position", "original_position"}}

TOLD: dict[str, set[str | None]] = {
    "pull_request": {
        "opened", "edited", "synchronize", "ready_for_review", "reopened", "closed", "labeled", "unlabeled",
        "converted_to_draft", "locked", "unlocked",
    },
    "pull_request_review": {"submitted", "edited", "dismissed"},
    "pull_request_review_comment": {"created", "edited", "deleted"},
    "check_run": {"created", "completed"},
    "check_suite": {"completed"},
    "push": {None},
    "issues": {"opened", "closed", "transferred", "deleted", "locked", "unlocked"},
    "repository": {"renamed", "transferred", "deleted", "archived", "unarchived"},
    "installation": {"created", "deleted", "suspend", "unsuspend", "new_permissions_accepted"},
    "installation_repositories": {"removed"},
}  # fmt: skip


def examples() -> Mapping[tuple[str, str | None], list[dict[str, Any]]]:
    """GitHub's examples by event and action."""
    found: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for event, payload in senders.examples():
        found.setdefault((event, payload.get("action")), []).append(payload)
    return found


def agreed(payloads: list[dict[str, Any]]) -> set[str]:
    """The keys that all of them have."""
    return set.intersection(*(set(payload) for payload in payloads)) if payloads else set()


def _threads(made: Scene) -> None:
    world, repo = made.world, made.repo
    second = world.add_repository("acme", "other")
    world.set_role(second, "meg", "admin")
    for number in range(2):
        row = world.open_issue(repo, "sam", f"Issue {number}")
        world.lock(repo, row.number, "meg")
        world.unlock(repo, row.number, "meg")
        world.set_state(repo, row.number, "meg", "closed")
        if number:
            world.delete_issue(repo, row.number, "meg")
        else:
            world.transfer_issue(repo, row.number, "meg", second)


def _pulls(made: Scene) -> None:
    world, repo, pull = made.world, made.repo, with_pull(made)
    at = (repo, pull.number)
    world.edit_issue(*at, "meg", title="Better")
    world.set_draft(*at, "meg", True)
    world.set_draft(*at, "meg", False)
    world.set_labels(*at, "meg", ["bug"])
    world.set_labels(*at, "meg", [])
    world.lock(*at, "meg")
    world.unlock(*at, "meg")
    world.review(*at, "ana", "No", state="CHANGES_REQUESTED", remarks=[Remark("src/size.py", "Why 0?", 2)])
    review, comment = pull.reviews[0], pull.review_threads[0].comments[0]
    world.edit_review(review, "meg", "No.")
    world.dismiss(review, "meg")
    world.edit_review_comment(comment.id, "meg", "Why?")
    world.reply(comment.id, "meg", "So.")
    world.delete_review_comment(comment.id, "meg")
    world.add_check(repo, pull.head, "tests", "failure", log="no\n")
    world.force_push(repo, pull.head, {"a.txt": "b\n"}, "meg", "Again")
    world.set_state(*at, "meg", "closed")
    world.set_state(*at, "meg", "open")


def _owners(made: Scene) -> None:
    world, repo, row = made.world, made.repo, made.installation
    world.suspend(row)
    world.suspend(row, suspended=False)
    world.grant(row, {**row.permissions, "statuses": "write"})
    world.rename_repository(repo, "lexer", "meg")
    world.archive_repository(repo, "meg")
    world.archive_repository(repo, "meg", archived=False)
    world.transfer_repository(repo, "ana", "meg")
    world.delete_repository("acme/other", "meg")
    world.uninstall(row)


@pytest.fixture
def told(tmp_path: Path) -> dict[tuple[str, str | None], list[dict[str, Any]]]:
    """All that a busy repository of an organisation tells."""
    made = scene(tmp_path, owner_type="Organization", owner="acme")
    made.world.add_user("ana")
    made.world.set_role(made.repo, "ana", "write")
    made.world.set_role(made.repo, "meg", "admin")
    for play in (_threads, _pulls, _owners):
        play(made)
    found: dict[tuple[str, str | None], list[dict[str, Any]]] = {}
    for delivery in made.world.deliveries:
        found.setdefault((delivery.event, delivery.action), []).append(delivery.payload())
    return found


def test_everything_is_told(told: dict[tuple[str, str | None], list[dict[str, Any]]]) -> None:
    """Every event and action that the bot has to live with, each with somebody who did it."""
    missing = {(event, action) for event, actions in TOLD.items() for action in actions} - set(told)
    assert missing == set()
    assert all(payload["sender"]["login"] for payloads in told.values() for payload in payloads)


def test_payloads_have_githubs_keys(told: dict[tuple[str, str | None], list[dict[str, Any]]]) -> None:
    """At the top, and in what the event is about."""
    known, compared = examples(), 0
    for key, payloads in told.items():
        theirs = known.get(key, [])
        for payload in payloads:
            assert agreed(theirs) - _OPTIONAL - set(payload) == set(), key
            for part in _PARTS:
                objects = [one[part] for one in theirs if isinstance(one.get(part), dict)]
                if isinstance(payload.get(part), dict):
                    gone = _GONE.get(part, set())
                    assert agreed(objects) - gone - set(payload[part]) == set(), (key, part)
                    compared += bool(objects)
    assert compared > 10

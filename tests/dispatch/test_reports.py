"""Answers that only tell: what is under way, what a run saw, what is in force."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.dispatch import reports
from bot.dispatch.commands import Command
from bot.dispatch.configuration import Configured
from bot.errors import UserError
from bot.model.context import CommentRecord, Manifest
from bot.model.state import RunState
from bot.store import Session, Store, dispatches, runs, snapshots
from bot.store.tables import Attempt, Run
from tests import rows
from tests.dispatch.scene import acceptance, configured, event
from tests.rows import NOW

BOT_YML = """\
version: 1
default: helper
trigger_role: triage
history_comment_count: 7
limits: {per_run: {usd: 1.5, tokens: 12000, minutes: 9}}
agents:
  helper: {description: Answers., model: "demo:helper"}
  local: {runner: {exec: [sh, answer.sh]}}
workflows:
  build:
    description: Builds it.
    params: {base: main}
    steps: [{id: one, run: "true"}]
  deploy:
    description: Deploys it.
    trigger_role: maintain
    budget: {usd: 5, minutes: 3}
    steps: [{id: one, run: "true"}]
  hidden:
    on: {mention: false}
    steps: [{id: one, run: "true"}]
"""


async def told(store: Store, what: str, usable: Configured | None = None) -> str:
    held = await store.write(lambda s: acceptance(s, event(), usable or configured(BOT_YML)))
    return reports.help_body(held) if what == "help" else reports.config_body(held)


async def test_help_names_what_a_mention_may_start(store: Store) -> None:
    """With params and descriptions; what mentions do not start is left out; the default is named."""
    text = await told(store, "help")
    assert "| `@bot build [base=…] …` | Builds it. |" in text
    assert "| `@bot helper …` | Answers. |" in text
    assert "| `@bot deploy …` | Deploys it. (maintain and above) |" in text
    assert "hidden" not in text
    assert "goes to `helper`" in text
    assert "`@bot cancel [run]`" in text


async def test_help_without_a_usable_file(store: Store) -> None:
    """The built-ins, and why there is nothing else."""
    text = await told(store, "help", configured("version: 2\n"))
    assert "`@bot cancel [run]`" in text
    assert "cannot be used" in text
    assert "`version`" in text


async def test_config_is_what_is_in_force(store: Store) -> None:
    """Commit, default, role, window, limits, roster with what each runs on; a broken file shows its findings alone."""
    text = await told(store, "config")
    for line in (
        "**Configuration in force at c0ffee0**",
        "| default | `helper` |",
        "| may command | triage and above |",
        "| recency window | 7 comments, authors `auto` |",
        "| one run may spend | $1.5, 12,000 tokens, 9 minutes |",
        "| `helper` | `demo:helper` |",
        "| `local` | `sh answer.sh` |",
        "| one prompt | 80 % of the model's window, 150,000 tokens where that is not known |",
        "| `build` | a workflow |",
        "| `deploy` | a workflow; maintain and above; $5, 12,000 tokens, 3 minutes a run |",
        "| `ask` | the operator's default model |",
    ):
        assert line in text
    broken = await told(store, "config", configured("version: 2\n"))
    assert ("in force" in broken, "cannot be used" in broken) == (False, True)


async def test_config_shows_warnings_too(store: Store) -> None:
    """A file that is not read is worth a word."""
    files = configured(BOT_YML)
    from bot.workflows import builtin_files, check

    both = {**files.files, ".github/bot.yaml": "version: 1\n"}
    text = await told(store, "config", Configured("c0ffee", both, *check(both, builtin_files())))
    assert "in force" in text
    assert "`.github/bot.yaml` at c0ffee has warnings" in text
    assert "cannot be used" not in text
    assert "`ignored_file`" in text


async def test_a_suggestion_is_a_question(store: Store) -> None:
    """And says how to ask the words as free text."""
    held = await store.write(lambda s: acceptance(s, event(), configured(BOT_YML)))
    text = reports.did_you_mean(Command("default", "helper", {}, "buidl x", suggestion="build"), held)
    assert "Did you mean `@bot build`? Nothing was started for it." in text


async def test_status_lists_runs_in_order_with_their_age(store: Store) -> None:
    """Running since it started, queued since it was asked; a quiet thread names its last run."""

    def work(session: Session) -> list[str]:
        quiet = reports.status_body(session, rows.thread(session), NOW, "@bot")
        rows.run(session, guid="a")
        second = rows.run(session, guid="b", workflow="build")
        runs.claim(session, "me", NOW + timedelta(minutes=3))
        busy = reports.status_body(session, rows.thread(session), NOW + timedelta(minutes=5, seconds=59), "@bot")
        first = dispatches.open_of_thread(session, rows.thread(session).id)[0]
        runs.release(session, first, NOW)
        again = reports.status_body(session, rows.thread(session), NOW + timedelta(minutes=5), "@bot")
        assert again.splitlines()[2].startswith("- r1 `ask` · running for 2 min · next in this thread · ")
        for run in (session.get_one(Run, second.id), *[r for r, _, _ in runs.recent(session)]):
            run.state = RunState.FAILED
            session.add(run)
        session.flush()
        return [quiet, busy, reports.status_body(session, rows.thread(session), NOW, "@bot")]

    quiet, busy, last = await store.write(work)
    assert quiet == "Nothing is under way here."
    assert busy.splitlines()[2:] == [
        "- r1 `ask` · running for 2 min · asked by `ana`",
        "- r2 `build` · queued for 5 min · 1 before it · asked by `ana`",
    ]
    assert last == "Nothing is under way here. The last was r2 `build`: failed."


async def test_status_tells_waiting_from_working(store: Store) -> None:
    """A run waits since it began to, and has worked what is left of its time; also when it goes on in its turn."""

    def work(session: Session) -> list[str]:
        made = rows.run(session, guid="a")
        runs.claim(session, "me", NOW)
        runs.wait(session, made, NOW + timedelta(minutes=3), None)
        later = NOW + timedelta(days=2)
        waits = reports.status_body(session, rows.thread(session), later, "@bot")
        runs.wake(session, made.id)
        goes_on = reports.status_body(session, rows.thread(session), later, "@bot")
        runs.claim(session, "me", later)
        runs_again = reports.status_body(session, rows.thread(session), later + timedelta(minutes=1), "@bot")
        return [body.splitlines()[2].split(" · ")[1] for body in (waits, goes_on, runs_again)]

    assert await store.write(work) == ["waits for 47 h 57 min", "running for 3 min", "running for 4 min"]


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (None, "**What r1 saw** (`ask`, step `look`)"),
        ("r1", "**What r1 saw** (`ask`, step `look`)"),
        ("r2", "r2 has asked no model, so there is nothing to show."),
        ("r9", "There is no r9 in this thread."),
    ],
)
async def test_why_shows_the_newest_prompt(store: Store, named: str | None, expected: str) -> None:
    """Of the run that is named, else of the newest run that asked a model; the newest attempt of it."""
    seen = [Manifest(comments=(_record(author),)).model_dump(mode="json") for author in ("old", "sam")]

    def work(session: Session) -> str:
        first, second = rows.run(session, guid="a"), rows.run(session, guid="b")
        for number, manifest in ((1, seen[0]), (2, seen[1]), (3, None)):
            session.add(_attempt(session, first, number, manifest))
        session.add(_attempt(session, second, 1, None))
        session.flush()
        return reports.why_body(session, rows.thread(session), named)

    if "saw" not in expected:
        with pytest.raises(UserError, match=expected.rstrip(".")):
            await store.write(work)
        return
    text = await store.write(work)
    assert text.startswith(expected)
    assert ("sam" in text, "old" in text) == ((True, False) if "saw" in text else (False, False))


async def test_why_before_any_run(store: Store) -> None:
    """Said, not silent."""
    with pytest.raises(UserError, match="No run of this thread has asked a model yet"):
        await store.write(lambda s: reports.why_body(s, rows.thread(s), None))


def _record(author: str) -> CommentRecord:
    at = NOW.isoformat()
    return CommentRecord(id=1, author=author, role="read", created_at=at, updated_at=at, bytes=3, fate="included")


def _attempt(session: Session, run: Run, number: int, manifest: dict[str, object] | None) -> Attempt:
    frame = runs.rows(session, run.id).root
    return Attempt(
        run_id=run.id,
        frame_id=frame.id,
        step="look",
        kind="agent",
        number=number,
        started_at=NOW,
        manifest=manifest,
        prompt_blob=None if manifest is None else snapshots.put_blob(session, b"a prompt", NOW),
    )


@pytest.mark.parametrize(("can_ask", "shown"), [(True, ""), (False, " (no key here)")])
async def test_config_says_which_model_cannot_be_asked(store: Store, shown: str, *, can_ask: bool) -> None:
    """Before anybody waits for an answer of it."""
    held = await store.write(lambda s: acceptance(s, event(), configured(BOT_YML)))
    text = reports.config_body(replace(held, can_ask=lambda _model: can_ask))
    assert f"| `helper` | `demo:helper`{shown} |" in text

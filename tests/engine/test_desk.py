"""Doing a step: terms, who may still, the place it works in, and what faults become."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlmodel import select

from bot.engine import Desk, commit
from bot.engine.graph import End
from bot.errors import ConfigurationError, OperatorError, Transient, UserError
from bot.model.outcome import Done, Failed, Faulted
from bot.model.state import RunState
from bot.runners import Providers, Runners
from bot.store import Session, Store, snapshots
from bot.store.tables import Outbox, Snapshot
from bot.workflows import Budget
from bot.workspace import Sandbox
from tests.engine.scene import open_room
from tests.github.fake import answer
from tests.rows import NOW

REPO = "/repos/acme/widgets"
PERMISSION = f"{REPO}/collaborators/ana/permission"


def text(step: str, more: str = "") -> str:
    """A file whose workflow `main` has one step that needs no clone."""
    return f"version: 1\n{more}workflows:\n  main:\n    steps:\n      - {{id: one, workspace: none, {step}}}\n"


# -- terms


async def test_the_tightest_budget_binds(store: Store, tmp_path: Path) -> None:
    """The operator's ceiling over the workflow's budget over the file's limits, key by key."""
    file = text('run: "true"', "limits: {per_run: {usd: 3, tokens: 500, minutes: 7}}\n").replace(
        "  main:\n", "  main:\n    budget: {usd: 12, minutes: 2}\n"
    )
    async with open_room(store, tmp_path, file, max_run_usd=5.0) as room:
        terms = await room.terms()
        assert terms.budget == Budget(usd=5.0, tokens=500, minutes=2)
        assert (terms.usd_day, terms.workflow.called) == (50.0, "main")
        generous = Desk(replace(room.tools, max_run_usd=50.0))
        assert (await generous.terms(await room.case.rows())).budget.usd == 12


async def test_a_configuration_that_cannot_be_used(store: Store, tmp_path: Path) -> None:
    """A workflow that is gone, or a file that does not hold: said as what it is."""
    async with open_room(store, tmp_path, text('run: "true"')) as room:
        rows = await room.case.rows()
        rows.run.workflow = "gone"
        with pytest.raises(UserError, match="`gone` is not in this configuration"):
            await room.desk.terms(rows)
        rows.snapshot.files, rows.snapshot.commit = {".github/bot.yml": "version: 2\n"}, "d" * 40
        with pytest.raises(ConfigurationError) as broken:
            await room.desk.terms(rows)
        assert [f.code for f in broken.value.findings] == ["version"]


# -- who may still


@pytest.mark.parametrize(
    ("seconds", "response", "needed", "allowed", "asked"),
    [
        (10, None, "write", True, 0),
        (11, {"role_name": "write"}, "write", True, 1),
        (11, {"role_name": "read"}, "write", False, 1),
        (11, {"role_name": "read"}, "read", True, 1),
        (11, {"role_name": "none", "permission": "none"}, "read", False, 1),
        # somebody else has the login by now
        (11, {"role_name": "admin", "user": {"id": 999, "login": "ana"}}, "write", False, 1),
        (11, 404, "write", False, 1),
        (11, 403, "write", False, 1),
        # the clock was set back
        (-3_600, {"role_name": "read"}, "write", False, 1),
    ],
)
async def test_the_role_is_checked_again_at_the_start(
    store: Store, tmp_path: Path, seconds: int, response: Any, needed: str, allowed: bool, asked: int
) -> None:
    """Unless it was read a moment ago; without it the run is cancelled with one fixed sentence."""
    async with open_room(store, tmp_path, text('run: "true"', f"trigger_role: {needed}\n")) as room:
        good = answer({"message": "no"}, response) if isinstance(response, int) else answer(response or {})
        room.server.on("GET", PERMISSION, good)
        room.server.clock.advance(seconds)
        end = await room.desk.admit(await room.case.rows())
        sentence = "The role of the person who asked changed meanwhile."
        assert end == (None if allowed else End(RunState.CANCELLED, None, sentence))
        assert len(room.server.sent("GET", PERMISSION)) == asked


async def test_another_bot_is_asked_for_by_its_id(store: Store, tmp_path: Path) -> None:
    """It has no role: the default branch says now whether it may; where that cannot be read, what it said before."""
    async with open_room(store, tmp_path, text('run: "true"', "allow_bots: [11]\n")) as room:
        room.server.clock.advance(60)
        rows = await room.case.rows()
        rows.dispatch.actor_role, rows.dispatch.actor_id = "", 11
        room.server.on("GET", f"{REPO}/commits/main", answer({"message": "no"}, 404))
        assert await room.desk.admit(rows) is None
        room.server.clock.advance(60)
        room.server.on("GET", f"{REPO}/commits/main", httpx.Response(200, text="e" * 40))
        room.server.on("GET", f"{REPO}/git/trees/{'e' * 40}", answer({"sha": "e" * 40, "tree": [], "truncated": False}))
        end = await room.desk.admit(rows)
        assert end == End(RunState.CANCELLED, None, "The role of the person who asked changed meanwhile.")
        assert room.server.sent("GET", PERMISSION) == []


async def test_a_fault_of_github_is_nobodys_no(store: Store, tmp_path: Path) -> None:
    """Nor is what it says of the App's own token."""
    async with open_room(store, tmp_path, text('run: "true"')) as room:
        room.server.clock.advance(60)
        for fault in (answer({}, 502, retry_after="60"), answer({"message": "Bad credentials"}, 401)):
            room.server.on("GET", PERMISSION, fault)
            with pytest.raises(Transient):
                await room.desk.admit(await room.case.rows())


async def test_the_role_is_checked_again_when_it_goes_on(store: Store, tmp_path: Path) -> None:
    """Not within seconds of the last look, whatever it waited for."""
    async with open_room(store, tmp_path, text('run: "true"')) as room:
        room.server.on("GET", PERMISSION, answer({"role_name": "write"}))
        await room.case.begin()
        room.server.clock.advance(60)
        assert await room.desk.admit(await room.case.rows()) is None
        assert await room.desk.admit(await room.case.rows()) is None
        assert len(room.server.sent("GET", PERMISSION)) == 1
        room.server.clock.advance(60)
        room.server.on("GET", PERMISSION, answer({"role_name": "read"}))
        end = await room.desk.admit(await room.case.rows())
        assert end == End(RunState.CANCELLED, None, "The role of the person who asked changed meanwhile.")


# -- the place


async def test_a_command_gets_its_variables_and_template_values(store: Store, tmp_path: Path) -> None:
    """Its own over the repository's; the engine's only where the operator opens them; nothing else of the engine's."""
    step = 'run: "env", env: {MINE: "${{ trigger.text }} by ${{ trigger.actor }}", BOTH: step}'
    shared = "workspace: {env: {SHARED: yes please, BOTH: file, OPEN: null}}\n"
    async with open_room(store, tmp_path, text(step, shared)) as room:
        outcome = await room.perform()
        assert isinstance(outcome, Done)
        seen = dict(line.split("=", 1) for line in (outcome.output or "").splitlines() if "=" in line)
        assert (seen["MINE"], seen["BOTH"], seen["SHARED"], seen["OPEN"]) == (
            "hello by ana",
            "step",
            "yes please",
            "opened",
        )
        assert (seen["BOT_STEP_ID"], seen["BOT_REPOSITORY"], seen["BOT_RUN_ID"]) == (
            "one",
            "acme/widgets",
            room.case.run_id,
        )
        assert "CLOSED" not in seen
        assert {name for name in seen if name.startswith("BOT_")} == {
            "BOT_RUN_ID",
            "BOT_RUN_DIR",
            "BOT_STEP_ID",
            "BOT_WORKSPACE",
            "BOT_RESULT_FILE",
            "BOT_ISSUE_NUMBER",
            "BOT_REPOSITORY",
        }


async def test_a_variable_that_is_not_open_fails_the_step(store: Store, tmp_path: Path) -> None:
    """Before anything runs."""
    async with open_room(store, tmp_path, text('run: "touch /tmp/x", env: {CLOSED: null}')) as room:
        outcome = await room.perform()
        assert isinstance(outcome, Failed)
        assert (outcome.code, "CLOSED" in outcome.message) == ("env_not_exported", True)


# -- what is taken out of what it gave


async def test_a_secret_spelled_with_escapes_is_taken_out(store: Store, tmp_path: Path) -> None:
    """Of a result, and of what `writes` reads in the output: both are clean after they were read as JSON too."""
    spelled = r'{"key": "\u00733cret-value"}'
    command = f"printf %s '{spelled}' | tee $BOT_RESULT_FILE".replace("\\", "\\\\").replace('"', '\\"')
    async with open_room(store, tmp_path, text(f'run: "{command}", shell: bash, writes: [key]')) as room:
        outcome = await room.perform()
        assert isinstance(outcome, Done)
        assert (outcome.result, outcome.writes) == ({"key": "[redacted]"}, {"key": "[redacted]"})


async def test_half_a_character_in_a_result(store: Store, tmp_path: Path) -> None:
    """No database takes it, so no later step is asked to put it anywhere."""
    spelled = r'{"key": ["\ud800"], "\ud800": 1}'.replace("\\", "\\\\").replace('"', '\\"')
    command = f"printf %s '{spelled}' > $BOT_RESULT_FILE"
    async with open_room(store, tmp_path, text(f'run: "{command}", shell: bash')) as room:
        outcome = await room.perform()
        assert isinstance(outcome, Done)
        assert outcome.result == {"key": ["?"], "?": 1}


# -- time


async def test_a_step_that_takes_too_long(store: Store, tmp_path: Path) -> None:
    """It is ended, and told where its time is set."""
    async with open_room(store, tmp_path, text("run: sleep 60, timeout: 0.3s")) as room:
        outcome = await room.perform()
        assert isinstance(outcome, Failed)
        assert (outcome.code, outcome.message) == ("timeout", "it did not end within 0.3 s")
        assert ".github/bot.yml line 5" in outcome.hint


async def test_the_minutes_of_a_steps_budget(store: Store, tmp_path: Path) -> None:
    """They bound it like its `timeout`, and the hint names them."""
    async with open_room(store, tmp_path, text("run: sleep 60, timeout: 50s, budget: {minutes: 0.005}")) as room:
        outcome = await room.perform()
        assert isinstance(outcome, Failed)
        assert (outcome.code, outcome.message) == ("timeout", "it did not end within 0.3 s")


@pytest.mark.parametrize("passed", [0.0, 29.9, 45.0])
async def test_a_run_whose_minutes_are_over(store: Store, tmp_path: Path, passed: float) -> None:
    """What is left of them bounds the step; then it is the run's end, not the step's."""
    async with open_room(store, tmp_path, text("run: sleep 60, timeout: 50s")) as room:
        room.server.clock.advance(passed)
        outcome = await room.perform(minutes=0.005 if not passed else 0.5)
        assert outcome == Failed("run_timed_out", f"its {0.005 if not passed else 0.5:g} minutes are over")


# -- faults


def crash(request: httpx.Request) -> httpx.Response:
    raise RuntimeError("secret details")


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (answer({}, 404), Failed("github_refused", "", "The App may lack a permission, or the thing is gone.")),
        (answer({}, 403), Failed("github_refused", "", "The App may lack a permission, or the thing is gone.")),
        (answer({}, 502, retry_after="77"), Faulted("", 77.0)),
        (answer({"message": "rate limit"}, 429, retry_after="60"), Faulted("", 60.0)),
        (answer({"clone_url": "https://evil.test/x.git"}), Failed("not_possible_here", "", "check BOT_GITHUB_URL")),
        (crash, Failed("internal_error", "the bot itself failed (RuntimeError)", "Its operator finds it in the log.")),
    ],
)
async def test_faults_become_outcomes(store: Store, tmp_path: Path, response: Any, expected: Failed | Faulted) -> None:
    """Each with the code, the words and the hint that fit; a passing one may be tried again; internals are not told."""
    file = text('run: "true"').replace("workspace: none", "workspace: read")
    async with open_room(store, tmp_path, file) as room:
        room.server.on("GET", REPO, response)
        outcome = await room.perform()
        assert type(outcome) is type(expected)
        assert "secret" not in str(outcome)
        if isinstance(outcome, Failed) and isinstance(expected, Failed):
            assert (outcome.code, outcome.hint.startswith(expected.hint)) == (expected.code, True)
            assert expected.message in outcome.message
        elif isinstance(outcome, Faulted) and isinstance(expected, Faulted):
            assert (outcome.retry_after, outcome.outage) == (expected.retry_after, True)


async def test_a_full_disk_is_told_as_that(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a folder of the workspace cannot be made, or one of its files not written."""

    def no_room(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/secret/place")

    async with open_room(store, tmp_path, text('run: "true"')) as room:
        monkeypatch.setattr(room.tools.workspaces, "open", no_room)
        assert await room.perform() == Failed("not_possible_here", "the disk is full", "make room under BOT_DATA_DIR")


# -- what is left behind


async def test_what_a_run_left_is_removed_and_a_fault_is_no_end(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ended runs and of those nobody knows; of one under way nothing; a disk that refuses ends no worker."""
    async with open_room(store, tmp_path, text('run: "touch left"')) as room:
        await room.perform()
        spaces = room.tools.workspaces
        (tmp_path / "work" / "runs" / "unknown").mkdir()
        assert spaces.known() == sorted([room.case.run_id, "unknown"])
        await room.desk.sweep()
        assert spaces.known() == [room.case.run_id]
        await room.case.change(state=RunState.SUCCEEDED)
        with monkeypatch.context() as patch:
            for error in (OSError("busy"), OperatorError("git failed")):

                async def refuse(run_id: str, error: Exception = error) -> None:
                    raise error

                patch.setattr(spaces, "remove", refuse)
                await room.desk.clear(room.case.run_id)
                await room.desk.sweep()
        assert spaces.known() == [room.case.run_id]
        await room.desk.sweep()
        assert spaces.known() == []


async def test_an_end_is_said_even_where_the_configuration_is_gone(store: Store, tmp_path: Path) -> None:
    """With the product's own ways of speaking."""
    async with open_room(store, tmp_path, text('run: "true"')) as room:

        def spoil(session: Session) -> None:
            for row in session.exec(select(Snapshot)):
                row.files, row.commit = {".github/bot.yml": "version: 2\n"}, "d" * 40
                session.add(row)

        await store.write(spoil)
        failure = Failed("version", "expected version 1")
        await store.write(lambda s: commit.fail(s, room.case.run_id, failure, room.desk.say, NOW))
        bodies = await store.read(lambda s: [o.body for o in s.exec(select(Outbox).where(Outbox.action == "comment"))])
        assert len(bodies) == 1
        assert "`main` failed: `version` expected version 1" in bodies[0]


# -- what steps leave


@pytest.mark.parametrize(("command", "code"), [("printf made > out.txt", ""), ("true", "artifact_missing")])
async def test_what_a_step_produces_is_read_before_its_folder_goes(
    store: Store, tmp_path: Path, command: str, code: str
) -> None:
    """Its bytes come with the outcome; a missing file fails it."""
    step = f'run: "{command}", produces: [{{id: report, kind: log, path: out.txt}}]'
    async with open_room(store, tmp_path, text(step)) as room:
        performed = await room.desk.perform(await room.case.begin(), await room.terms())
        assert getattr(performed.outcome, "code", "") == code
        assert performed.files == ({} if code else {"report": b"made"})


async def test_the_operator_bounds_results(store: Store, tmp_path: Path) -> None:
    """By one setting for every kind of step."""
    command = r"""printf '{\"n\": \"xxxxxxxxxxxxxxxx\"}' > $BOT_RESULT_FILE"""
    step = f'run: "{command}", result: {{fields: {{n: {{type: string}}}}}}'
    async with open_room(store, tmp_path, text(step), result_max_bytes=20) as room:
        outcome = await room.perform()
        assert isinstance(outcome, Failed)
        assert (outcome.code, "at most 20 bytes" in outcome.message) == ("result_mismatch", True)


async def test_a_step_reads_what_the_one_before_left(store: Store, tmp_path: Path) -> None:
    """From the folder that its variable names; it is gone when the run is cleared."""
    file = (
        "version: 1\nworkflows:\n  main:\n    steps:\n"
        '      - {id: one, workspace: none, run: "echo hello"}\n'
        '      - {id: two, workspace: none, run: "cat $BOT_RUN_DIR/one/stdout; echo $BOT_RUN_DIR"}\n'
    )
    async with open_room(store, tmp_path, file) as room:
        terms, begun = await room.terms(), await room.case.begin()
        second = await room.case.record(begun, (await room.desk.perform(begun, terms)).outcome)
        assert second is not None
        outcome = (await room.desk.perform(second, terms)).outcome
        assert isinstance(outcome, Done)
        said, folder = (outcome.output or "").splitlines()
        assert said == "hello"
        assert Path(folder).is_dir()
        await room.desk.clear(room.case.run_id)
        assert not Path(folder).exists()


LOOKS = """\
version: 1
agents:
  program: {runner: {exec: [bash, -c, "%s"]}}
  model: {model: "demo:echo", prompt: You repeat.}
workflows:
  main:
    steps:
      - {id: one, workspace: none, run: "echo hello"}
      - {id: two, workspace: none, %s}
"""
LOOK = "cat $BOT_RUN_DIR/one/stdout; touch $BOT_RUN_DIR/one/x 2> /dev/null || echo read-only"


@pytest.mark.parametrize(
    "step", [f"run: '{LOOK}'", "agent: program", f"agent: model, inputs: {{seen: {{exec: '{LOOK}'}}}}"]
)
async def test_commands_of_every_kind_read_it_and_none_changes_it(
    store: Store, tmp_path: Path, isolated: Sandbox, step: str
) -> None:
    """In isolation they see nothing of the engine's but what they are given."""
    more: dict[str, Any] = {"sandbox": isolated}
    async with (
        Runners(Providers(), isolated) as runners,
        open_room(store, tmp_path, LOOKS % (LOOK, step), runners=runners, **more) as room,
    ):
        thread = {"number": 1, "title": "t", "user": {"id": 1, "login": "ana"}, "state": "open", "labels": []}
        times = {
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
            "html_url": "https://x.test",
        }
        room.server.on("GET", f"{REPO}/issues/1", answer({"id": 9, "body": "", "comments": 0, **thread, **times}))
        room.server.on("GET", f"{REPO}/issues/1/comments", answer([]))
        room.server.on("POST", "/graphql", answer({"data": {"repository": {"issue": None}}}))
        terms, begun = await room.terms(), await room.case.begin()
        second = await room.case.record(begun, (await room.desk.perform(begun, terms)).outcome)
        assert second is not None
        outcome = (await room.desk.perform(second, terms)).outcome
        assert isinstance(outcome, Done), outcome
        prompt = (await room.case.rows()).attempts[-1].prompt_blob
        said = outcome.output or ""
        if "inputs" in step:
            assert prompt is not None
            said = (await store.read(lambda session: snapshots.get_blob(session, prompt))).decode()
        assert "hello\nread-only" in said
        assert "run_file" not in said  # it has no workspace

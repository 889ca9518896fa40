"""What a run says in its thread: a step's output, its end, and the reaction on what asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.engine.failing import failed_attempt, failing_body, was_refused
from bot.engine.graph import End
from bot.engine.trials import trial_of
from bot.model.codec import review_links
from bot.model.context import Manifest
from bot.model.outcome import Intent
from bot.model.slot import Slot
from bot.model.state import AttemptState, GateState, RunState
from bot.publish import (
    Footer,
    Saw,
    Speaker,
    cancelled_body,
    inline_code,
    note_body,
    put_away,
    run_footer,
    say_gate,
    say_reminder,
)
from bot.store import Session, dispatches, outbox, snapshots, spoken
from bot.store.gates import ASKED, asked_in
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Dispatch, Gate
from bot.workflows import BotFile, Step
from bot.workflows.step import AskStep
from bot.workflows.triggers import EVENTS, OPENED


class Reporter:
    """Writes a run's comments and reactions into the outbox, through the one speaker."""

    def __init__(self, speaker: Speaker) -> None:
        self._speaker = speaker

    def output(
        self, session: Session, rows: RunRows, step: Step, attempt: Attempt, bot: BotFile, path: str = "/"
    ) -> bool:
        """Post a step's output; False if there is none. The slot is the step's, so that it is never posted twice.

        `path` is that of its frame.
        """
        return self._speaker.output(
            session,
            rows.thread,
            _slot(rows, attempt, path),
            purpose=_purpose(attempt),
            text=_output(session, attempt),
            result=attempt.result,
            # of elements the whole is Markdown, with each output in a fence of its own where it is text
            fenced=step.format == "text" and getattr(step, "each", None) is None,
            footer=_footer(rows, attempt),
            run=rows.run,
            mentions=_mentions(rows, bot),
            every_mention=bot.publish.mentions == "all",
            max_parts=bot.publish.max_parts,
            rest="*The rest of this output is longer than this repository posts (`publish.max_parts`).*",
        )

    def end(
        self, session: Session, rows: RunRows, end: End, steps: Mapping[str, Step], bot: BotFile, handle: str
    ) -> None:
        """Post what a run's end leaves to say, and react. `handle` is how the bot is called here."""
        self._take_back(session, rows)
        reacts = _has_subject(rows.dispatch)
        match end.state:
            case RunState.SUCCEEDED:
                said = self._result(session, rows, steps, bot)
                told = reacts and bot.publish.progress != "none"
                heard = told or spoken.any_of_run(session, rows.run.id)
                if not said and (rows.dispatch.trial or not heard):  # nobody would know, or not that it was a trial
                    name = inline_code(rows.run.workflow)
                    body = note_body(f"r{rows.run.number} {name} succeeded without output.", footer=_footer(rows, None))
                    self._end(session, rows, body, "output", bot)
            case RunState.CANCELLED if end.reason.startswith(dispatches.TOLD):
                pass  # the comment of whoever stopped the thread names it
            case RunState.CANCELLED:
                by = rows.run.cancelled_by or ""
                body = cancelled_body(
                    run=rows.run.number,
                    workflow=rows.run.workflow,
                    by=by,
                    why="" if by else end.reason,
                    footer=_footer(rows, None),
                )
                self._end(session, rows, body, "cancelled", bot)
            case _:
                body = failing_body(rows, end, steps, handle, _footer(rows, failed_attempt(rows, end)))
                self._end(session, rows, body, "error", bot)
        broke_or_done = end.state is not RunState.CANCELLED and not was_refused(rows, end)
        if reacts and broke_or_done and bot.publish.progress != "none":
            content = "rocket" if end.state is RunState.SUCCEEDED else "confused"
            slot = Slot(f"run/{rows.run.id}", f"reaction-{content}")
            dispatch = rows.dispatch
            self._speaker.reaction(
                session,
                rows.thread,
                slot,
                content=content,
                target_id=dispatch.comment_id,
                target_kind=dispatch.target_kind,
                run=rows.run,
            )
        elif rows.run.ended_at is not None:  # no reaction comes in its place
            put_away(session, rows.run.id, rows.run.ended_at)

    def ask(self, session: Session, rows: RunRows, gate: Gate, bot: BotFile, handle: str) -> None:
        """Post what people are asked; said again, the comment tells what became of it. `handle` is the bot's here."""
        if gate.state is GateState.OPEN:
            # whoever says it again, for a tick or a command, has no configuration at hand
            named = () if bot.publish.mentions == "none" else tuple(gate.who.get("logins") or ())
            mentions = [*_mentions(rows, bot), *named]
            gate.options = {**gate.options, "handle": handle, "mentions": mentions, "run_url": _footer(rows, None).url}
            session.add(gate)
        say_gate(session, self._speaker, asked_in(rows, gate))

    def remind(self, session: Session, rows: RunRows, gate: Gate) -> None:
        """Remind people once of what they are asked."""
        say_reminder(session, self._speaker, asked_in(rows, gate))

    def intend(
        self,
        session: Session,
        rows: RunRows,
        attempt: Attempt,
        intents: Sequence[Intent],
        path: str = "/",
        *,
        waits: bool = False,
        bot: BotFile,
    ) -> None:
        """Write what is to be done on GitHub for an attempt; `waits`: it goes on when that was done."""
        slot = Slot(f"run/{rows.run.id}", "action", path, attempt.step, attempt.iteration)
        for intent in intents:
            self._speaker.intend(
                session,
                rows.thread,
                slot,
                intent,
                run=rows.run,
                attempt_id=attempt.id if waits else None,
                mentions=_mentions(rows, bot),
                every_mention=bot.publish.mentions == "all",
                max_parts=bot.publish.max_parts,
                rest="*The rest of this output is longer than this repository posts (`publish.max_parts`).*",
            )

    def plainly(self, session: Session, rows: RunRows) -> None:
        """One fixed sentence, with nothing in it that anybody else wrote."""
        self._speaker.comment(
            session,
            rows.thread,
            Slot(f"run/{rows.run.id}", "end"),
            purpose="error",
            body=f"r{rows.run.number} ended because the bot itself failed. Its operator finds why in its log.",
            run=rows.run,
        )

    def _result(self, session: Session, rows: RunRows, steps: Mapping[str, Step], bot: BotFile) -> bool:
        """The newest successful step of the root frame that has an output, unless it was posted when it ended.

        An answer stands in the comment that asked, and what that showed there too. Whether anything stands there.
        """
        asked = ""
        for attempt in reversed(rows.attempts):
            step = steps.get(attempt.step)
            if attempt.frame_id != rows.root.id or attempt.state is not AttemptState.SUCCESS or step is None:
                continue
            if step.publish is False:
                continue
            if isinstance(step, AskStep) and step.publish is not True:
                asked += "\n".join(str(g.options.get("show", "")) for g in rows.gates if g.attempt_id == attempt.id)
                continue
            if asked and (attempt.output or "").strip() and (attempt.output or "").strip() in asked:
                return True
            # what was taken over was posted by the run that it is taken from
            posted = attempt.taken_from is not None or outbox.find(session, _slot(rows, attempt)) is not None
            if step.publish is True and posted:
                return True
            if self.output(session, rows, step, attempt, bot):
                return True
        return False

    def _take_back(self, session: Session, rows: RunRows) -> None:
        """Nobody need answer what the end has left open."""
        attempts = {attempt.id: attempt for attempt in rows.attempts}
        for gate in rows.gates:
            attempt = attempts[gate.attempt_id]
            if gate.state is GateState.CANCELLED and gate.kind in ASKED and attempt.taken_from is None:
                say_gate(session, self._speaker, asked_in(rows, gate))

    def _end(self, session: Session, rows: RunRows, body: str, purpose: str, bot: BotFile) -> None:
        self._speaker.comment(
            session,
            rows.thread,
            Slot(f"run/{rows.run.id}", "end"),
            purpose=purpose,
            body=body,
            run=rows.run,
            mentions=_mentions(rows, bot),
        )


def _has_subject(dispatch: Dispatch) -> bool:
    """Whether somebody's text asked for it, which can be reacted to. Of an event the body of what was opened is."""
    name = dispatch.trigger.get("name")
    return dispatch.comment_id is not None or name not in EVENTS or name == OPENED


def _purpose(attempt: Attempt) -> str:
    return "result" if attempt.kind == "agent" else "output"


def _slot(rows: RunRows, attempt: Attempt, path: str = "/") -> Slot:
    return Slot(f"run/{rows.run.id}", _purpose(attempt), path, attempt.step, attempt.iteration)


def _output(session: Session, attempt: Attempt) -> str:
    """The whole output, not the part that the row holds."""
    blob = attempt.streams.get("output")
    return snapshots.get_blob(session, blob).decode("utf-8", "replace") if blob else attempt.output or ""


def _footer(rows: RunRows, attempt: Attempt | None) -> Footer:
    # what other kinds have on record, such as the inputs of a command, no model saw
    manifest = attempt.manifest if attempt is not None and attempt.kind in ("agent", "classify") else None
    until = rows.run.ended_at or (attempt.ended_at if attempt is not None else None)
    return replace(
        run_footer(rows.run, rows.attempts, rows.again),
        model=attempt.model if attempt is not None else "",
        seconds=rows.run.worked(until) if rows.run.started_at and until else None,
        saw=Saw.of(Manifest.model_validate(manifest)) if manifest else None,
        threads=() if rows.dispatch.reply_to is not None else review_links(rows.dispatch.trigger),
        trial=str(trial_of(rows.dispatch) or ""),
    )


def _mentions(rows: RunRows, bot: BotFile) -> tuple[str, ...]:
    requester = (rows.dispatch.actor,) if bot.publish.mentions == "requester" else ()
    return (*requester, *bot.publish.allow_mentions)

"""Does the work of one attempt: hands each kind of step what it needs, and holds the outcome against what is wanted."""

from __future__ import annotations

import asyncio

from bot.engine import gates
from bot.engine.acting import Acting
from bot.engine.around import Place, Surroundings
from bot.engine.asking import Asking
from bot.engine.commit import Performed
from bot.engine.given import given, variables
from bot.engine.judge import judged
from bot.engine.produced import with_files
from bot.engine.redaction import clean
from bot.engine.terms import Begun, Terms
from bot.model.context import Context, Manifest
from bot.model.outcome import Done, Outcome
from bot.steps import perform_run, read_result, result_file
from bot.workflows import Step
from bot.workflows.github_steps import NotifyStep, PullRequestStep, ReviewStep
from bot.workflows.step import AskingStep, CodeStep, ConnectorStep, RunStep, WaitStep


class Performer:
    """Performs the attempts of one run. Faults are raised; whoever calls turns them into outcomes.

    Without `judging` results are not held against what a step declares: where no model is asked there is none.
    """

    def __init__(self, around: Surroundings, terms: Terms, *, judging: bool = True) -> None:
        self._around, self._terms, self._judging = around, terms, judging

    async def perform(self, begun: Begun, place: Place, seconds: float) -> Performed:
        """Do the step within `seconds`."""
        outcome, file = await self._outcome(begun, place, seconds)
        if not self._judging:
            return Performed(outcome)
        # a schema, a large answer and large files may take a while
        return await asyncio.to_thread(self._held, begun.step, outcome, file, place)

    def _held(self, step: Step, outcome: Outcome, file: str | None, place: Place) -> Performed:
        """The outcome held against what the step declares, with the files that it produces."""
        redact = self._around.bench.redact
        outcome = clean(outcome, redact)
        outcome = judged(step, outcome, None if file is None else redact(file), self._terms.result_bytes)
        # what was read as JSON may have spelled a secret with escapes
        return Performed(*with_files(step, clean(outcome, redact), place.workspace.path, redact))

    async def _outcome(self, begun: Begun, place: Place, seconds: float) -> tuple[Outcome, str | None]:
        """What came of the step, and what it left as its result in a file, if anything."""
        acting = Acting(self._around, self._terms, begun, place)
        match begun.step:
            case RunStep() as step:
                return await self._run(begun, step, place, seconds)
            case AskingStep() as step:
                return await Asking(self._around, self._terms, begun, step, place).outcome(seconds), None
            case CodeStep() as step:
                return await acting.code(step, seconds), None
            case ConnectorStep() as step:
                return await acting.connector(step, seconds), None
            case NotifyStep() | ReviewStep() | PullRequestStep() as step:
                outcome = await acting.said(step)
                if acting.warnings:  # on record as an agent's are
                    manifest = Manifest(warnings=tuple(acting.warnings))
                    await self._around.attach(begun, Context("", "", (), manifest))
                return outcome, None
            case WaitStep() as step:
                event = await self._around.happened(step.wait.event or "")
                return gates.asked(step, {}, self._around.now()) if event is None else Done(result=event), None
            case step:  # opened or passed by `advance`
                raise TypeError(f"a step of kind {step.kind} is not performed")

    async def _run(self, begun: Begun, step: RunStep, place: Place, seconds: float) -> tuple[Outcome, str | None]:
        inputs = variables(await given(self._around, self._terms, begun, step, place))
        async with result_file() as file:
            own = self._around.environment(step.environment(place.scope))
            outcome = await perform_run(
                step.argv(place.scope).argv,
                cwd=place.workspace.path,
                env={**place.env, **inputs, "BOT_RESULT_FILE": str(file), **own},
                timeout=seconds,
                sandbox=self._around.bench.sandbox,
                where=str(step.mark),
                writable=(file.parent,),
                readable=place.readable,
            )
            return outcome, await asyncio.to_thread(read_result, file)

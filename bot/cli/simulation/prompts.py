"""The texts of an attempt as a real run puts them together: the prompt with its sizes, templates without a value."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bot.cli.simulation.quiet import HEAD, AnyName, Quiet
from bot.cli.simulation.report import Blocks, Prompt
from bot.engine.acting import Acting
from bot.engine.around import Place
from bot.engine.assembly import assemble_step
from bot.engine.delivered import delivered
from bot.engine.grant import own_variables
from bot.engine.rendering import rendering
from bot.engine.run_inputs import SecretInputs, secret_names
from bot.engine.terms import Begun, Terms
from bot.model.context import BlockRecord
from bot.model.outcome import Failed, Outcome
from bot.workflows import Step
from bot.workflows.base_step import WorkingStep
from bot.workflows.each import Each
from bot.workflows.github_steps import NotifyStep, PullRequestStep, ReviewStep
from bot.workflows.readings import parts
from bot.workflows.step import AskingStep
from bot.workflows.step_inputs import FileInput, InputNode, ValueInput
from bot.workspace import Workspace


class Prompts:
    """Puts the texts of attempts together; `root` is the repository whose files `file` inputs read."""

    def __init__(self, around: Quiet, terms: Terms, root: Path | None) -> None:
        self._around, self._terms, self._root = around, terms, root

    async def of(self, begun: Begun) -> tuple[Prompt | None, list[str], Failed | None]:
        """The prompt of a step that asks a model, warnings, and the failure that these texts alone make certain.

        Raises `UserError` where a template has no value or the prompt is too large, as the attempt would.
        """
        with tempfile.TemporaryDirectory(prefix="threadsmith-") as folder:
            return await self._within(begun, Path(folder))

    async def _within(self, begun: Begun, folder: Path) -> tuple[Prompt | None, list[str], Failed | None]:
        step = begun.step
        assert isinstance(step, WorkingStep)
        uncomputed = await asyncio.to_thread(self._files, step, folder)
        workspace = Workspace(folder, HEAD, "read")
        shared = self._around.environment(self._terms.configuration.bot.workspace.env)
        env = {**shared, **own_variables(begun.rows, step, workspace)}
        place = Place(workspace, env, await self._scope(begun, begun.step))
        if isinstance(step, AskingStep):
            records, warnings = await self._asked(begun, step, place)
            return _prompt(records, uncomputed), warnings, None
        warnings = _rendered(step, place.scope)
        outcome = await self._acted(begun, step, place)
        return None, warnings, outcome if isinstance(outcome, Failed) else None

    def _files(self, step: WorkingStep, folder: Path) -> tuple[str, ...]:
        """Put the files that its inputs read into the folder; names of inputs whose text is not the real one."""
        uncomputed: list[str] = []
        inputs = getattr(step, "inputs", {})
        for name, one in inputs.items():
            if isinstance(one, FileInput):
                target = folder / one.file
                target.parent.mkdir(parents=True, exist_ok=True)
                source = None if self._root is None else self._root / one.file
                if source is not None and source.is_file() and not source.is_symlink():
                    target.write_bytes(source.read_bytes())
                    continue
                target.write_text("(made up)\n", encoding="utf-8")
            if isinstance(one, InputNode) and not isinstance(one, ValueInput):
                uncomputed.append(name)
        return tuple(uncomputed)

    async def _scope(self, begun: Begun, step: Step) -> dict[str, Any]:
        configuration = self._terms.configuration
        values = await self._around.read(
            lambda session: rendering(session, begun.rows, begun.tree, begun.level, step, begun.attempt, configuration)
        )
        inputs = SecretInputs(values["inputs"], secret_names(begun.level.workflow), self._around.secret)
        resources = {name: one.shown for name, one in configuration.bot.resources.items()}
        return {**values, "inputs": inputs, "resources": resources, "secrets": AnyName()}

    async def _asked(self, begun: Begun, step: AskingStep, place: Place) -> tuple[tuple[BlockRecord, ...], list[str]]:
        agent = self._terms.configuration.agents[step.asked]
        model = agent.model or (f"exec:{agent.runner.exec[0]}" if agent.runner else "")
        context = await assemble_step(
            self._around.bench,
            begun.rows,
            self._terms.configuration,
            begun.level.workflow,
            step,
            agent,
            snapshot=await self._around.thread(),
            role_of=self._around.role_of,
            sources=self._around.sources,
            workspace=place.workspace,
            env=place.env,
            scope={**place.scope, "agent": {"name": step.asked, "model": model}},
            resolve=self._around.environment,
            handed=await delivered(begun, step, self._around.blob),
        )
        return context.manifest.blocks, list(context.manifest.warnings)

    async def _acted(self, begun: Begun, step: WorkingStep, place: Place) -> Outcome | None:
        """What GitHub would be asked, as far as the values tell; nothing is done."""
        acting = Acting(self._around, self._terms, begun, place)
        match step:
            case NotifyStep():
                return acting.notify(step)
            case ReviewStep():
                return await acting.review(step)
            case PullRequestStep():
                return await acting.pull_request(step)
            case _:
                return None


def _rendered(step: WorkingStep, values: Any) -> list[str]:
    """The warnings of every text of a step. Raises `UserError` for one that has no value and needs one."""
    warnings: list[str] = []
    for node in parts(step):
        if isinstance(node, Each) or (isinstance(node, ValueInput) and not node.required):
            continue  # the first is filled once, before there are elements
        for _, template in node.templates():
            warnings.extend(template.render(values).warnings)
    return warnings


def _prompt(records: Iterable[BlockRecord], uncomputed: Sequence[str]) -> Prompt:
    kinds: dict[str, list[BlockRecord]] = {}
    for record in records:
        kinds.setdefault(record.kind, []).append(record)
    blocks = tuple(
        Blocks(kind, len(found), sum(one.bytes for one in found), sum(one.tokens for one in found))
        for kind, found in kinds.items()
    )
    total = sum(one.bytes for one in blocks), sum(one.tokens for one in blocks)
    return Prompt(*total, blocks, tuple(uncomputed))

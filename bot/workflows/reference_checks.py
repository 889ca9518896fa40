"""Every reference names what can be there when it is read: a step upstream, a written key, a declared word."""

from __future__ import annotations

from bot.workflows.base_step import WorkingStep
from bot.workflows.conditions import NAMES
from bot.workflows.findings import Findings, listing, meant, nearest
from bot.workflows.frames import Frames, Sight
from bot.workflows.key_checks import KeyChecks, producers
from bot.workflows.mark import Mark
from bot.workflows.readings import Reading, readings
from bot.workflows.roster import Roster
from bot.workflows.slots import FILE_FIELDS, NAMESPACES, Slot, field_fault
from bot.workflows.step import Step, UsesStep
from bot.workflows.step_checks import StepChecks
from bot.workflows.workflow import Workflow

#: references of all steps, those of their agents counted with each
REFERENCES_MAX = 20_000

#: names that templates have and conditions do not
_ELSEWHERE = frozenset(NAMESPACES) - {*NAMES}


class Noted:
    """The findings of one step: for each name the first, or the worst."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[bool, Mark, str, str, str]] = {}

    def add(self, use: Reading, subject: str, code: str, message: str, hint: str, *, error: bool = True) -> None:
        """Note what is wrong with a reading; `subject` is the name that it is about."""
        key = (use.mark.file if not use.own else "", subject)
        before = self._found.get(key)
        if before is None or (error and not before[0]):
            self._found[key] = (error, use.mark, code, message, hint)

    def report(self, findings: Findings) -> None:
        """Hand the findings over."""
        for is_error, mark, code, message, hint in self._found.values():
            (findings.error if is_error else findings.warning)(mark, code, message, hint)


def check_references(
    workflow: Workflow,
    frames: Frames,
    roster: Roster,
    findings: Findings,
) -> None:
    """Rules 3 to 5 of *Checked before anything runs*: one finding for each step and name, the first or the worst."""
    written = producers(frames)
    for frame in frames.rows:
        for step in frame.steps:
            if findings.full:
                return
            noted = Noted()
            checks = _Checks(workflow, frames, step, roster, noted)
            keys = KeyChecks(frames, step, written, noted)
            for use in readings(step, roster.agents):
                findings.references += 1
                if findings.references > REFERENCES_MAX:
                    noted.report(findings)
                    message = f"all steps together have more than {REFERENCES_MAX:,} templates"
                    hint = "use fewer steps, or fewer templates in agents' prompts"
                    findings.error(step.mark, "too_many", message, hint)
                    return
                if use.path[0] == "ctx" and len(use.path) > 1:
                    keys.take(use)
                else:
                    checks.take(use)
            noted.report(findings)


class _Checks:
    """The references of one step, but for keys of the run context."""

    def __init__(
        self,
        workflow: Workflow,
        frames: Frames,
        step: Step,
        roster: Roster,
        noted: Noted,
    ) -> None:
        self._workflow = workflow
        self._frames = frames
        self._step = step
        self._roster = roster
        self._noted = noted
        self._steps = StepChecks(frames, step, roster.workflows, noted)

    def take(self, use: Reading) -> None:
        match use.path[0]:
            case "params":
                self._param(use)
            case "inputs":
                self._input(use)
            case "steps" if len(use.path) > 1:
                self._steps.take(use)
            case "item":
                self._item(use)
            case "trigger" if use.form == "token" and use.path == ("trigger", "text"):
                self._text(use)
            case "artifacts" if len(use.path) > 1:
                self._artifact(use)
            case "resources" if len(use.path) > 1 and use.form == "token":
                self._resource(use)
            case "result" if use.form == "decide":
                self._steps.declared(use, self._step, use.path[1:])
            case _ if use.form == "condition":
                self._name(use)

    def _text(self, use: Reading) -> None:
        """Who mentions the bot may write words; an event brings none, or what it opened may have no text."""
        events = self._workflow.on.events
        if events and not use.has_default:
            message = f"`trigger.text` has no value where `{events[0]}` starts this without a text"
            hint = 'give it a default: `${{ trigger.text ?? "…" }}`'
            self._noted.add(use, use.name, "trigger_text", message, hint, error=False)

    def _param(self, use: Reading) -> None:
        known = self._workflow.params
        # an agent's prompt serves many workflows, so there a default makes up for a param that this one lacks
        if len(use.path) > 1 and use.path[1] not in known and not use.lenient:
            hint = meant(use.path[1], known) or f"declare it: `params: {{{use.path[1]}: …}}`"
            message = f"the workflow `{self._workflow.called}` has no param `{use.path[1]}`"
            self._noted.add(use, f"params.{use.path[1]}", "unknown_param", message, hint)

    def _input(self, use: Reading) -> None:
        known = self._workflow.inputs
        if len(use.path) < 2:
            return
        name = use.path[1]
        if name not in known:
            if not use.lenient:
                hint = meant(name, known) or f"declare it: `inputs: {{{name}: {{type: text}}}}`"
                message = f"the workflow `{self._workflow.called}` has no input `{name}`"
                self._noted.add(use, f"inputs.{name}", "unknown_input", message, hint)
        elif known[name].type == "secret" and not self._may_be_secret(use):
            message = f"`inputs.{name}` is a secret, and cannot stand here"
            hint = "pass it through `env:`, or on to a workflow with `uses`"
            self._noted.add(use, f"inputs.{name}", "namespace", message, hint)
        elif len(use.path) > 2:
            kind = known[name].type
            field = ".".join(use.path[2:])
            if kind != "file":
                message = f"`{use.name}` goes too deep: `inputs.{name}` is of type `{kind}` and ends there"
                self._noted.add(use, use.name, "template_depth", message, "only a `file` has fields")
            elif field not in FILE_FIELDS:
                message = f"a file has no field `{field}`"
                self._noted.add(use, use.name, "unknown_field", message, nearest(field, FILE_FIELDS))
            elif field == "bytes" and use.form == "condition":
                message, hint = "conditions do not see a file's `bytes`", "ask for its `size_bytes` or `sha256_hex`"
                self._noted.add(use, use.name, "unknown_field", message, hint)

    def _may_be_secret(self, use: Reading) -> bool:
        """Whether what stands in this place reaches a process alone, or another workflow's own input."""
        return use.slot is Slot.ENVIRONMENT or (use.slot is Slot.TYPED and isinstance(self._step, UsesStep))

    def _item(self, use: Reading) -> None:
        if self._frames.elements(self._step.id, inside=use.inside) or use.lenient:
            return
        message, hint = "`item` means something only inside `each`", "add `each: {over: …}` to the step, or around it"
        if isinstance(self._step, WorkingStep) and self._step.each is not None and not use.inside:
            message = "`item` means nothing here: it is read once, for all elements together"
            hint = "put the step into a group of `steps` that has the `each`"
        self._noted.add(use, "item", "item", message, hint)

    def _artifact(self, use: Reading) -> None:
        name, known = use.path[1], self._frames.artifacts
        if use.lenient:
            return
        if name not in known:
            hint = meant(name, known) or f"let a step before it have `produces: [{{id: {name}, kind: …}}]`"
            self._noted.add(use, f"artifacts.{name}", "unknown_artifact", f"no step produces `{name}`", hint)
        elif not any(self._produced(one) for one in known[name]):
            message = f"`{name}` is produced by {listing(known[name])}, from where no route leads here"
            hint = "let a step before this one produce it"
            within = [self._frames.view(one, self._step).owner for one in known[name]]
            if within[0] is not None:
                message = f"`{name}` is produced inside `{within[0].id}`, and seen only there"
                hint = f"let `{within[0].id}` itself produce it, or a step before this one"
            self._noted.add(use, f"artifacts.{name}", "unknown_artifact", message, hint)

    def _produced(self, producer: str) -> bool:
        step = self._frames.step(producer)
        fanned = isinstance(step, WorkingStep) and step.each is not None
        return not fanned and self._frames.view(producer, self._step).sight is Sight.SEEN

    def _resource(self, use: Reading) -> None:
        name = use.path[1]
        known = self._roster.resources.get(name)
        if known is not None and len(use.path) > 2:
            field = ".".join(use.path[2:])
            if field not in known.shown:
                message = f"the resource `{name}` shows no `{field}`"
                hint = nearest(field, known.shown) or f"add `public: {{{field}: …}}` to it"
                self._noted.add(use, use.name, "unknown_field", message, hint)
        elif known is None:
            hint = (
                nearest(name, self._roster.resources) or f"declare it in `.github/bot.yml`: `resources: {{{name}: …}}`"
            )
            self._noted.add(use, f"resources.{name}", "unknown_resource", f"there is no resource `{name}`", hint)

    def _name(self, use: Reading) -> None:
        """The first word of a path in a condition."""
        name = use.path[0]
        elements = {each.name for each in self._frames.elements(self._step.id, inside=use.inside)}
        if name in ("trigger", "issue"):
            fault = field_fault(use.path, use.name) if len(use.path) > 1 else None
            if fault is not None:
                self._noted.add(use, use.name, *fault)
        elif name == "value" and not use.in_verdict:
            message = "`value` means something only in the cases of a verdict; the condition is always false"
            self._noted.add(use, name, "unknown_name", message, "name the value by its path", error=False)
        elif name not in NAMES and name not in elements:
            known = [one for one in (*NAMES, *sorted(elements)) if one != "value" or use.in_verdict]
            reason = "conditions do not have it" if name in _ELSEWHERE else "nothing has this name"
            hint = meant(name, known) or f"conditions have {listing(known)}; text stands in quotes"
            message = f"`{name}`: {reason}, so the condition is always false"
            self._noted.add(use, name, "unknown_name", message, hint, error=False)

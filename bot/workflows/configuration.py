"""From a repository's files to a checked configuration. Pure: whoever reads the files passes them in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from bot.errors import ConfigurationError
from bot.finding import Finding
from bot.model.role import Role
from bot.workflows.agent import Agent, Budget
from bot.workflows.base_step import WorkingStep
from bot.workflows.binding import Binding
from bot.workflows.bot_file import BotFile
from bot.workflows.call_checks import check_agents, check_use
from bot.workflows.checks import check_names, check_workflow
from bot.workflows.defaults import Defaults
from bot.workflows.document import Document
from bot.workflows.extends import Sources, merged
from bot.workflows.findings import Findings
from bot.workflows.loader import load as load_yaml
from bot.workflows.mark import Mark
from bot.workflows.node import Node
from bot.workflows.roster import Roster
from bot.workflows.shape import validate
from bot.workflows.step import AgentStep, AskingStep
from bot.workflows.waiting import waits
from bot.workflows.workflow import Workflow

BOT_FILE = ".github/bot.yml"
BASE = ".github/bot/"
WORKFLOWS = ".github/bot/workflows/"

#: the product's own files are named apart from the repository's in messages
_BUILTIN = "config/"

_WORKFLOW_FILE = re.compile(re.escape(WORKFLOWS) + r"[^/]+\.yml")
_NAME = re.compile(r"[a-z][a-z0-9_-]*")

N = TypeVar("N", bound=Node)


def configures(path: str) -> bool:
    """Whether the file of that path in a repository is one of the bot's own."""
    return path == BOT_FILE or path.startswith(BASE)


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a repository says, with the product's own agents where it says nothing. `findings` are warnings."""

    bot: BotFile
    agents: Mapping[str, Agent]
    workflows: Mapping[str, Workflow]
    findings: tuple[Finding, ...] = ()
    _implied: Mapping[str, Workflow] = field(default_factory=dict, repr=False)

    def workflow_for(self, name: str) -> Workflow | None:
        """The workflow of that name, or the one-step workflow of the agent of that name."""
        return self.workflows.get(name) or self._implied.get(name)

    def names(self) -> tuple[str, ...]:
        """What a mention may name: agents, and workflows that mentions start, in alphabetical order."""
        return tuple(sorted({*self.agents, *(n for n, w in self.workflows.items() if w.on.mention)}))

    def role_for(self, name: str) -> Role:
        """The least role that may run this agent or workflow."""
        owner = self.workflows.get(name) or self.agents.get(name)
        return (owner.trigger_role if owner is not None else None) or self.bot.trigger_role

    def budget_for(self, workflow: Workflow) -> Budget:
        """What one run may spend: the workflow's own budget, else `limits.per_run`, key by key."""
        return (workflow.budget or Budget()).over(self.bot.limits.per_run)


def check(
    files: Mapping[str, str], builtin: Mapping[str, str] | None = None
) -> tuple[Configuration | None, tuple[Finding, ...]]:
    """Check the files of a repository (by path, as `.github/bot.yml`) and put the configuration together.

    Files of a base that it extends stand among them as `extends` says.

    `builtin` holds the product's own `bot.yml` and prompts (see `bot.workflows.builtin`). With an error among the
    findings there is no configuration. Never raises, whatever the files hold.
    """
    findings = Findings()
    own = _bot_file(builtin or {}, findings)
    sources = Sources.of(files)
    bot = _repository_file(files, sources, findings)
    declared = [*_inline(bot, findings), *_workflow_files(sources, findings)]
    bot, declared = _own_first(bot, declared, sources)
    _misnamed(sources.texts, findings)
    names = {*bot.agents, *(workflow.called for workflow in declared)}
    agents = {**{name: agent for name, agent in own.agents.items() if name not in names}, **bot.agents}
    # a fault of shape in one file makes names of the other unknown, which is no fault of theirs
    if findings.failed:
        return None, findings.sorted()
    check_names(bot, agents, declared, findings)
    workflows = {workflow.called: workflow for workflow in declared}
    implied = {name: _one_step(name, agent) for name, agent in agents.items()}
    for workflow in (*declared, *implied.values()):
        _settle(workflow, agents, workflows)
    check_use(workflows, findings)
    used = {step.asked for workflow in declared for step in workflow.every_step if isinstance(step, AskingStep)}
    roster = Roster(agents, workflows, bot.resources)
    check_agents(roster, findings)
    for workflow in (*declared, *(one for name, one in implied.items() if name not in used)):
        check_workflow(workflow, roster, findings)
    found = findings.sorted()
    if any(finding.severity == "error" for finding in found):
        return None, found
    proxies = (MappingProxyType(agents), MappingProxyType(workflows))
    return Configuration(bot, *proxies, found, MappingProxyType(implied)), found


def load(files: Mapping[str, str], builtin: Mapping[str, str] | None = None) -> Configuration:
    """The checked configuration. Raises `ConfigurationError` with all findings where it cannot be used."""
    configuration, findings = check(files, builtin)
    if configuration is None:
        raise ConfigurationError([finding for finding in findings if finding.severity == "error"])
    return configuration


def _bot_file(builtin: Mapping[str, str], findings: Findings) -> BotFile:
    """The product's own file."""
    document = load_yaml(f"{_BUILTIN}bot.yml", builtin["bot.yml"], findings) if builtin else None
    read = _read(BotFile, document, Sources(builtin), "", findings, builtin=True) if document is not None else None
    return read or BotFile(version=1)


def _repository_file(files: Mapping[str, str], sources: Sources, findings: Findings) -> BotFile:
    """The repository's `bot.yml`, over that of its base where it extends one."""
    text = sources.texts.get(BOT_FILE) if BOT_FILE not in sources.names else None
    document = load_yaml(BOT_FILE, text, findings) if text is not None else None
    if document is not None and isinstance(document.data, dict):
        document = merged(document, files, sources, findings)
    read = _read(BotFile, document, sources, BASE, findings) if document is not None else None
    return read or BotFile(version=1)


def _read(
    model: type[N], document: Document, sources: Sources, base: str, findings: Findings, *, builtin: bool = False
) -> N | None:
    """One file as `model`, its parts bound to their places."""
    if not isinstance(document.data, dict):
        hint = "it begins with `version: 1`" if model is BotFile else "it begins with `description:` or `steps:`"
        findings.error(Mark(document.file), "type_mismatch", f"{model.NOUN} is a mapping", hint)
        return None
    read = validate(model, document, findings, {"builtin": builtin})
    if read is not None:
        Binding(document, sources.texts, base, findings, sources.names).bind(read)
    return read


def _own_first(bot: BotFile, declared: list[Workflow], sources: Sources) -> tuple[BotFile, list[Workflow]]:
    """Without what the base calls by a name that the repository gives to something of its own, wherever it stands."""
    if not sources.base:
        return bot, declared
    own = {workflow.called for workflow in declared if not sources.is_base(workflow.mark)}
    own |= {name for name, agent in bot.agents.items() if not sources.is_base(agent.mark)}
    kept = [one for one in declared if one.called not in own or not sources.is_base(one.mark)]
    agents = {name: one for name, one in bot.agents.items() if name not in own or not sources.is_base(one.mark)}
    return bot.model_copy(update={"agents": agents}), kept


def _inline(bot: BotFile, findings: Findings) -> list[Workflow]:
    """The workflows of `bot.yml`: the key is the name."""
    for name, workflow in bot.workflows.items():
        if workflow.name not in (None, name):
            message = f"`{workflow.name}` differs from the key `{name}`"
            findings.error(workflow.mark_of("name"), "name", message, "remove `name`: in `bot.yml` the key is the name")
        workflow.call(name)
    return list(bot.workflows.values())


def _workflow_files(sources: Sources, findings: Findings) -> list[Workflow]:
    """The workflows of `.github/bot/workflows/`: one a file, named by its stem unless `name` says otherwise."""
    found = []
    for file in sorted(sources.texts):
        if not _WORKFLOW_FILE.fullmatch(file):
            continue
        document = load_yaml(sources.name(file), sources.texts[file], findings)
        workflow = _read(Workflow, document, sources, BASE, findings) if document is not None else None
        if workflow is None:
            continue
        name = workflow.name or file.removeprefix(WORKFLOWS).removesuffix(".yml")
        if not _NAME.fullmatch(name):
            hint = "rename the file in lower-case letters, or give the workflow a `name`"
            findings.error(Mark(sources.name(file)), "name", f"`{name}` is no name for a workflow", hint)
        workflow.call(name)
        found.append(workflow)
    return found


def _misnamed(files: Mapping[str, str], findings: Findings) -> None:
    for file in files:
        if file == ".github/bot.yaml" or (file.startswith(WORKFLOWS) and file.endswith(".yaml")):
            findings.warning(Mark(file), "ignored_file", "the file is not read", "let its name end in `.yml`")


def _settle(workflow: Workflow, agents: Mapping[str, Agent], workflows: Mapping[str, Workflow]) -> None:
    """Tell every step what holds where it says nothing."""
    for step in workflow.every_step:
        may_wait = isinstance(step, WorkingStep) and step.each is not None and waits(step, agents, workflows)
        step.settle(workflow.defaults, waits=may_wait)
        if isinstance(step, AskingStep):
            # whom a `classify` asks may stand in the defaults
            step.settle(workflow.defaults, agents.get(step.asked), waits=may_wait)


def _one_step(name: str, agent: Agent) -> Workflow:
    """What a mention of an agent runs."""
    step = AgentStep(id=name.replace("-", "_"), agent=name)
    step._mark = agent.mark
    workflow = Workflow(
        description=agent.description, trigger_role=agent.trigger_role, steps=(step,), defaults=Defaults()
    )
    workflow._mark = agent.mark
    workflow.call(name)
    return workflow

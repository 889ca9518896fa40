"""The repository's YAML as checked, frozen objects: loader with line marks, models, templates, checks. No I/O."""

from bot.workflows.agent import Agent, Budget, Retry, Runner
from bot.workflows.bot_file import BotFile, Limits
from bot.workflows.builtin import builtin_files
from bot.workflows.command import Argv, Command
from bot.workflows.configuration import Configuration, check, load
from bot.workflows.mark import Mark
from bot.workflows.memo import Checked, Memo
from bot.workflows.slots import Slot
from bot.workflows.step import AgentStep, ExecInput, RunStep, Step
from bot.workflows.template import Rendered, Template
from bot.workflows.workflow import Workflow

__all__ = [
    "Agent",
    "AgentStep",
    "Argv",
    "BotFile",
    "Budget",
    "Checked",
    "Command",
    "Configuration",
    "ExecInput",
    "Limits",
    "Mark",
    "Memo",
    "Rendered",
    "Retry",
    "RunStep",
    "Runner",
    "Slot",
    "Step",
    "Template",
    "Workflow",
    "builtin_files",
    "check",
    "load",
]

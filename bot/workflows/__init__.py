"""The repository's YAML as checked, frozen objects: loader with line marks, models, templates, checks. No I/O."""

from bot.workflows.agent import Agent, Budget, Retry, Runner
from bot.workflows.bot_file import BotFile, DayLimits, Limits
from bot.workflows.builtin import builtin_files
from bot.workflows.command import Argv, Command
from bot.workflows.conditions import Condition, Truth
from bot.workflows.configuration import Configuration, check, load
from bot.workflows.context_keys import is_engine_key, is_reserved
from bot.workflows.context_reference import ContextReference
from bot.workflows.fidelity import MEDIUM_KEYS, Fidelity, lower
from bot.workflows.mark import Mark
from bot.workflows.memo import Checked, Memo
from bot.workflows.paths import MISS, resolve
from bot.workflows.result import Result
from bot.workflows.result_fields import ResultField
from bot.workflows.results import Checker, Tagged, Violation, extract_tagged
from bot.workflows.routes import Edge, Graph, Via, targets
from bot.workflows.routing import END, Case, Loop, Rework, Verdict
from bot.workflows.signature import Bound, Declared, InputViolation, bind
from bot.workflows.slots import Slot
from bot.workflows.step import AgentStep, Ending, EndStep, ExecInput, RunStep, Step, SwitchStep
from bot.workflows.template import Rendered, Template
from bot.workflows.workflow import Workflow
from bot.workflows.writes import Extraction, extract

__all__ = [
    "END",
    "MEDIUM_KEYS",
    "MISS",
    "Agent",
    "AgentStep",
    "Argv",
    "BotFile",
    "Bound",
    "Budget",
    "Case",
    "Checked",
    "Checker",
    "Command",
    "Condition",
    "Configuration",
    "ContextReference",
    "DayLimits",
    "Declared",
    "Edge",
    "EndStep",
    "Ending",
    "ExecInput",
    "Extraction",
    "Fidelity",
    "Graph",
    "InputViolation",
    "Limits",
    "Loop",
    "Mark",
    "Memo",
    "Rendered",
    "Result",
    "ResultField",
    "Retry",
    "Rework",
    "RunStep",
    "Runner",
    "Slot",
    "Step",
    "SwitchStep",
    "Tagged",
    "Template",
    "Truth",
    "Verdict",
    "Via",
    "Violation",
    "Workflow",
    "bind",
    "builtin_files",
    "check",
    "extract",
    "extract_tagged",
    "is_engine_key",
    "is_reserved",
    "load",
    "lower",
    "resolve",
    "targets",
]

"""The texts of a step as a real run puts them together: prompts with their sizes, and templates without a value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.cli.local import ThreadFile
from bot.cli.simulation.quiet import AnyName, QuietSandbox, named_only
from bot.cli.simulation.report import Blocks, Prompt
from bot.context import ThreadSnapshot
from bot.engine.assembly import Bench, assemble_step
from bot.engine.delivered import delivered
from bot.engine.scope import artifacts, scope
from bot.engine.terms import Begun
from bot.errors import NotFound
from bot.model.context import Context
from bot.model.role import Role
from bot.model.thread import Account
from bot.runners import Providers, Runners
from bot.store import Store, snapshots
from bot.workflows import AgentStep, Configuration
from bot.workflows.each import Each
from bot.workflows.readings import parts
from bot.workflows.step_inputs import InputNode, ValueInput
from bot.workspace import Workspace

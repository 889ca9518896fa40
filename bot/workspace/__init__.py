"""Clones, process trees, isolation, and the environment that a child may see."""

from bot.workspace.clone import Kept, Left
from bot.workspace.clones import Workspace, WorkspaceMode, Workspaces
from bot.workspace.environment import allowed_env
from bot.workspace.git import Git
from bot.workspace.interpreter import Interpreter, interpreter
from bot.workspace.live import Live
from bot.workspace.process import Command, Completed, shell
from bot.workspace.reach import Reach
from bot.workspace.remote import Origin
from bot.workspace.sandbox import Sandbox, SandboxMode, open_sandbox
from bot.workspace.secrets import Secrets, withheld

__all__ = [
    "Command",
    "Completed",
    "Git",
    "Interpreter",
    "Kept",
    "Left",
    "Live",
    "Origin",
    "Reach",
    "Sandbox",
    "SandboxMode",
    "Secrets",
    "Workspace",
    "WorkspaceMode",
    "Workspaces",
    "allowed_env",
    "interpreter",
    "open_sandbox",
    "shell",
    "withheld",
]

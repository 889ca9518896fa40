"""Clones, process trees, isolation, and the environment that a child may see."""

from bot.workspace.clones import Workspace, WorkspaceMode, Workspaces
from bot.workspace.environment import allowed_env
from bot.workspace.git import Git
from bot.workspace.process import Command, Completed, shell
from bot.workspace.sandbox import Sandbox, SandboxMode, open_sandbox

__all__ = [
    "Command",
    "Completed",
    "Git",
    "Sandbox",
    "SandboxMode",
    "Workspace",
    "WorkspaceMode",
    "Workspaces",
    "allowed_env",
    "open_sandbox",
    "shell",
]

"""Runs: what may start now (pure), performing it, and recording everything it led to in one transaction."""

from bot.engine.desk import Desk
from bot.engine.hooks import HookTargets
from bot.engine.progress import Progress
from bot.engine.tools import Tools, repository_of
from bot.engine.worker import Workers

__all__ = ["Desk", "HookTargets", "Progress", "Tools", "Workers", "repository_of"]

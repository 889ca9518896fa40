"""Runs: what may start now (pure), performing it, and recording everything it led to in one transaction."""

from bot.engine.desk import Desk
from bot.engine.target import Targets
from bot.engine.tools import Tools, repository_of
from bot.engine.worker import Workers

__all__ = ["Desk", "Targets", "Tools", "Workers", "repository_of"]

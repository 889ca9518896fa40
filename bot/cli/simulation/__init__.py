"""A walk through a workflow with the real engine, in which nothing is called: what `threadsmith simulate` prints."""

from bot.cli.simulation.answers import Answers
from bot.cli.simulation.report import Report, Visit
from bot.cli.simulation.thread import made_up_thread
from bot.cli.simulation.told import as_json, as_text
from bot.cli.simulation.walker import Endless, walk

__all__ = ["Answers", "Endless", "Report", "Visit", "as_json", "as_text", "made_up_thread", "walk"]

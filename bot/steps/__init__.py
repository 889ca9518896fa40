"""One module per kind of step: from what the step is given to its outcome."""

from bot.steps.agent import perform_agent
from bot.steps.code import perform_code
from bot.steps.result_file import read_result, result_file
from bot.steps.run import perform_run

__all__ = ["perform_agent", "perform_code", "perform_run", "read_result", "result_file"]

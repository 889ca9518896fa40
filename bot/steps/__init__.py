"""One module per kind of step: from what the step is given to its outcome.

`review`, `notify` and `pull_request` wait for what they post: each gives intents, and later its result from what was
made of them.
"""

from bot.steps.agent import perform_agent
from bot.steps.classify import classification_schema, classification_task, classified
from bot.steps.code import perform_code
from bot.steps.connector import perform_connector
from bot.steps.diff import Diff, read_diff
from bot.steps.notify import notify_result, perform_notify
from bot.steps.posts import not_done
from bot.steps.pull_request import branch_name, perform_pull_request, pull_request_result
from bot.steps.result_file import read_result, result_file
from bot.steps.review import perform_review, review_result
from bot.steps.run import perform_run

__all__ = [
    "Diff",
    "branch_name",
    "classification_schema",
    "classification_task",
    "classified",
    "not_done",
    "notify_result",
    "perform_agent",
    "perform_code",
    "perform_connector",
    "perform_notify",
    "perform_pull_request",
    "perform_review",
    "perform_run",
    "pull_request_result",
    "read_diff",
    "read_result",
    "result_file",
    "review_result",
]

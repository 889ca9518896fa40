"""What the bot says on GitHub: policy, bodies, splitting, markers, and the loop that sends the outbox."""

from __future__ import annotations

from bot.model.fence import fence
from bot.publish.actions import HEAD_MOVED, ThreadActions
from bot.publish.body import (
    cancelled_body,
    configuration_body,
    failure_body,
    findings_table,
    inline_code,
    note_body,
    result_body,
    stopped_body,
)
from bot.publish.boxes import plainly, ticked
from bot.publish.checks import Checks
from bot.publish.comments import Comments
from bot.publish.compose import write
from bot.publish.eyes import put_away
from bot.publish.findings import told_findings
from bot.publish.footer import Footer, Saw
from bot.publish.gate import bound_to
from bot.publish.gate_comment import Standing, say_gate, say_reminder, standing
from bot.publish.hooks import Hooks, Target
from bot.publish.marker import Mark, Marker
from bot.publish.pace import Pace
from bot.publish.payload import closed
from bot.publish.performer import UNSURE, Act, Made, Performer, Undone
from bot.publish.policy import Policy, Sink
from bot.publish.redact import Redactor
from bot.publish.run_footer import run_footer, run_usage
from bot.publish.sender import Sender
from bot.publish.speaker import Speaker
from bot.publish.split import Part, split
from bot.publish.status import StepState, closed_status_body, status_body, step_line

__all__ = [
    "HEAD_MOVED",
    "UNSURE",
    "Act",
    "Checks",
    "Comments",
    "Footer",
    "Hooks",
    "Made",
    "Mark",
    "Marker",
    "Pace",
    "Part",
    "Performer",
    "Policy",
    "Redactor",
    "Saw",
    "Sender",
    "Sink",
    "Speaker",
    "Standing",
    "StepState",
    "Target",
    "ThreadActions",
    "Undone",
    "bound_to",
    "cancelled_body",
    "closed",
    "closed_status_body",
    "configuration_body",
    "failure_body",
    "fence",
    "findings_table",
    "inline_code",
    "note_body",
    "plainly",
    "put_away",
    "result_body",
    "run_footer",
    "run_usage",
    "say_gate",
    "say_reminder",
    "split",
    "standing",
    "status_body",
    "step_line",
    "stopped_body",
    "ticked",
    "told_findings",
    "write",
]

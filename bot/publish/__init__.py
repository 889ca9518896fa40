"""What the bot says on GitHub: policy, bodies, splitting, markers, and the loop that sends the outbox."""

from __future__ import annotations

from bot.publish.body import (
    cancelled_body,
    configuration_body,
    failure_body,
    gate_body,
    inline_code,
    note_body,
    result_body,
)
from bot.publish.compose import write
from bot.publish.fence import fence
from bot.publish.footer import Footer, Saw
from bot.publish.marker import Mark, Marker
from bot.publish.outbox import Port, Sender
from bot.publish.pace import Pace
from bot.publish.policy import Policy, Sink
from bot.publish.redact import Redactor
from bot.publish.speaker import Speaker
from bot.publish.split import Part, split

__all__ = [
    "Footer",
    "Mark",
    "Marker",
    "Pace",
    "Part",
    "Policy",
    "Port",
    "Redactor",
    "Saw",
    "Sender",
    "Sink",
    "Speaker",
    "cancelled_body",
    "configuration_body",
    "failure_body",
    "fence",
    "gate_body",
    "inline_code",
    "note_body",
    "result_body",
    "split",
    "write",
]

"""The queue: runs are claimed by processes that live, and what only one may do is somebody's duty."""

from bot.queue.duty import Duty
from bot.queue.port import Queue
from bot.queue.presence import Presence
from bot.queue.run_queue import RunQueue

__all__ = ["Duty", "Presence", "Queue", "RunQueue"]

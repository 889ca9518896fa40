"""The queue: one small port, and the back ends behind it."""

from bot.queue.embedded import EmbeddedQueue
from bot.queue.port import Queue

__all__ = ["EmbeddedQueue", "Queue"]

"""The front door: checks the signature of a delivery, writes it to disk, answers. Nothing else happens here."""

from bot.webhook.entry import admit
from bot.webhook.identity import content_key
from bot.webhook.inbox import Inbox
from bot.webhook.router import Front, door, route

__all__ = ["Front", "Inbox", "admit", "content_key", "door", "route"]

"""The front door: checks the signature of a delivery, writes it to disk, answers. Nothing else happens here."""

from bot.webhook.entry import admit
from bot.webhook.identity import content_key
from bot.webhook.inbox import Inbox
from bot.webhook.router import router

__all__ = ["Inbox", "admit", "content_key", "router"]

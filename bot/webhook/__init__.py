"""The front door: checks the signature of a delivery, writes it to disk, answers. Nothing else happens here."""

from bot.webhook.identity import content_key
from bot.webhook.inbox import Inbox
from bot.webhook.router import router

__all__ = ["Inbox", "content_key", "router"]

"""Rows and the queries over them: the only room that imports SQLModel (docs: life-of-a-dispatch).

Every query is a plain function of a session; `Store.write` and `Store.read` run it in the right thread and transaction.
"""

from sqlmodel import Session

from bot.store.bell import Bell
from bot.store.database import Store, named_as
from bot.store.opening import is_postgres, look_at_postgres, open_store

__all__ = ["Bell", "Session", "Store", "is_postgres", "look_at_postgres", "named_as", "open_store"]

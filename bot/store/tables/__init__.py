"""All tables (docs/adr: a run is its rows). Importing this module registers every table in `SQLModel.metadata`."""

from sqlmodel import SQLModel

from bot.store.columns import settle_types
from bot.store.tables.cluster import Allowance, Duty, Landmark, Process
from bot.store.tables.intake import CommentVersion, Delivery, Dispatch, Pin, Schedule, Snapshot, Thread
from bot.store.tables.outbox import Outbox
from bot.store.tables.pace import Creation, Meter, Reply
from bot.store.tables.run import Artifact, Attempt, Blob, Clone, Export, Frame, Gate, Run, Spend, Steer, Value

__all__ = [
    "Allowance",
    "Artifact",
    "Attempt",
    "Blob",
    "Clone",
    "CommentVersion",
    "Creation",
    "Delivery",
    "Dispatch",
    "Duty",
    "Export",
    "Frame",
    "Gate",
    "Landmark",
    "Meter",
    "Outbox",
    "Pin",
    "Process",
    "Reply",
    "Run",
    "Schedule",
    "Snapshot",
    "Spend",
    "Steer",
    "Thread",
    "Value",
]

settle_types(SQLModel.metadata)

"""What processes of one database tell each other: who lives, who does what only one may do, what GitHub allows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger
from sqlmodel import Field

from bot.store.columns import instant, moment
from bot.store.tables.row import Row


class Process(Row, table=True):
    """One start of a process. Its leases are good as long as it beats; times are the database's."""

    #: the name under which it holds leases
    id: str = Field(primary_key=True)
    host: str
    #: `serve` or `worker`
    kind: str
    started_at: datetime = instant()
    beat_at: datetime = instant(index=True)


class Duty(Row, table=True):
    """What one process at a time may do (intake, outbox, …), and who does it."""

    name: str = Field(primary_key=True)
    owner: str


class Allowance(Row, table=True):
    """What GitHub last said an installation may still ask of one resource, shared by every process.

    Installation 0 is the App itself.
    Source: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
    """

    installation_id: int = Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})
    #: `core`, `graphql`, …: GitHub's `x-ratelimit-resource`; `secondary` for a limit that holds for all of them
    resource: str = Field(primary_key=True)
    ceiling: int
    remaining: int
    reset_at: datetime | None = moment()
    #: nothing is asked before: a limit was hit
    blocked_until: datetime | None = moment(index=True)
    #: secondary limits in a row that named no time
    strikes: int = 0
    seen_at: datetime = instant()


#: landmarks whose name begins so are the last transactions of stores on PostgreSQL (`bot.store.postgres`)
WRITERS = "writer "


class Landmark(Row, table=True):
    """How far something that goes on for ever has come: `deliveries` up to when GitHub's log was read, …"""

    name: str = Field(primary_key=True)
    at: datetime = instant()
    detail: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)

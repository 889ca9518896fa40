"""What every table has in common."""

from __future__ import annotations

from sqlmodel import SQLModel


class Row(SQLModel):
    """The base of all tables. A row is made and read without being validated, so its validator is never built.

    Those of all tables would take a hundredth of a start.
    """

    model_config = {"defer_build": True}

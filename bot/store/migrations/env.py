"""Alembic's entry: runs the migrations on the connection that `bot.store.migrate` hands over."""

from alembic import context
from sqlmodel import SQLModel

import bot.store.tables  # noqa: F401  # registers every table

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()

"""The walk of a run: routes taken, the step behind a value of the run context, bound inputs."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    with op.batch_alter_table("attempt") as table:
        table.add_column(sa.Column("route", sa.JSON(), nullable=False, server_default="{}"))
    with op.batch_alter_table("value") as table:
        table.add_column(sa.Column("step", sa.String(), nullable=False, server_default=""))
        table.create_index("ix_value_newest", ["run_id", "key", "step"])
    with op.batch_alter_table("dispatch") as table:
        table.add_column(sa.Column("inputs", sa.JSON(), nullable=False, server_default="{}"))

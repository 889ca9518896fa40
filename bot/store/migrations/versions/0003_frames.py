"""Frames below the root, what an attempt waits for, what was done on GitHub for it, artifacts and exports."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    with op.batch_alter_table("run") as table:
        table.add_column(sa.Column("waited", sa.Float(), nullable=False, server_default="0"))
        table.add_column(sa.Column("waiting_since", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("frame") as table:
        table.add_column(sa.Column("attempt_id", sa.String(), nullable=True))
        table.add_column(sa.Column("place", sa.Integer(), nullable=False, server_default="0"))
        table.add_column(sa.Column("workflow", sa.String(), nullable=True))
        table.add_column(sa.Column("given", sa.JSON(), nullable=False, server_default="{}"))
        table.add_column(sa.Column("item", sa.JSON(), nullable=True))
    with op.batch_alter_table("gate") as table:
        table.add_column(sa.Column("kind", sa.String(), nullable=False, server_default="answer"))
        table.add_column(sa.Column("kept", sa.String(), nullable=True))
        table.add_column(sa.Column("opened_at", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("outbox") as table:
        table.add_column(sa.Column("attempt_id", sa.String(), nullable=True))
        table.add_column(sa.Column("outcome", sa.JSON(), nullable=True))
        table.create_index("ix_outbox_attempt_id", ["attempt_id"])
        table.create_foreign_key("fk_outbox_attempt", "attempt", ["attempt_id"], ["id"])
    with op.batch_alter_table("artifact") as table:
        table.add_column(sa.Column("path", sa.String(), nullable=True))
        table.add_column(sa.Column("frame_id", sa.String(), nullable=True))
    with op.batch_alter_table("export") as table:
        table.add_column(sa.Column("frame_id", sa.String(), nullable=True))
        table.add_column(sa.Column("attempts", sa.JSON(), nullable=False, server_default="[]"))
        table.add_column(sa.Column("made_at", sa.DateTime(timezone=True), nullable=True))

"""How fast was written, and what is over.

What each installation may still send, what was created and whom was answered lately; when a thread ended, and which
thread a delivery is about.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "meter",
        sa.Column("installation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tokens", sa.Float(), nullable=False),
        sa.Column("filled_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("blocked_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("strikes", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("installation_id"),
    )
    op.create_table(
        "creation",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("outbox_id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_creation_installation", "creation", ["installation_id", "at"])
    op.create_index("ix_creation_outbox_id", "creation", ["outbox_id"])
    op.create_table(
        "reply",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("thread_id", sa.String(), nullable=False),
        sa.Column("actor_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("unsaid", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_reply_sender", "reply", ["thread_id", "actor_id", "at"])
    with op.batch_alter_table("thread") as table:
        table.add_column(sa.Column("gone_at", sa.DateTime(timezone=True), nullable=True))
    with op.batch_alter_table("delivery") as table:
        table.add_column(sa.Column("number", sa.Integer(), nullable=True))
        table.create_index("ix_delivery_thread", ["repository_id", "number"])
    # what is to be sent next is found in its order, however much waits
    op.create_index("ix_outbox_next", "outbox", ["state", "priority", "id"])

"""Several processes on one database, and what is kept for how long.

Who lives, who does what only one may do, what GitHub still allows, how far its log was read; where a delivery came
from, and when the bytes of a run went; how often the end of a process interrupted a delivery or a post.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "process",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("beat_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_process_beat_at", "process", ["beat_at"])
    op.create_table(
        "duty",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "allowance",
        sa.Column("installation_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("resource", sa.String(), nullable=False),
        sa.Column("ceiling", sa.Integer(), nullable=False),
        sa.Column("remaining", sa.Integer(), nullable=False),
        sa.Column("reset_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("blocked_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("strikes", sa.Integer(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("installation_id", "resource"),
    )
    op.create_index("ix_allowance_blocked_until", "allowance", ["blocked_until"])
    op.create_table(
        "landmark",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    with op.batch_alter_table("delivery") as table:
        table.add_column(sa.Column("origin", sa.String(), nullable=False, server_default="webhook"))
        table.add_column(sa.Column("looked_by", sa.String(), nullable=True))
        table.add_column(sa.Column("interruptions", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("outbox") as table:
        table.add_column(sa.Column("interruptions", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("run") as table:
        table.add_column(sa.Column("purged_at", sa.DateTime(timezone=True), nullable=True))
        table.add_column(sa.Column("purge_at", sa.DateTime(timezone=True), nullable=True))
        table.add_column(sa.Column("suspect", sa.Boolean(), nullable=False, server_default=sa.false()))
        # a run is held as long as its process lives
        table.drop_column("lease_until")
    op.create_index("ix_run_purge", "run", ["purged_at", "ended_at"])
    op.create_index("ix_run_purge_at", "run", ["purge_at"])
    with op.batch_alter_table("blob") as table:
        table.add_column(sa.Column("round", sa.Integer(), nullable=False, server_default="0"))
    # a delivery's row goes before that of the request that it led to; the name is the one that PostgreSQL gave it
    with op.batch_alter_table("dispatch", naming_convention={"fk": "%(table_name)s_%(column_0_name)s_fkey"}) as table:
        table.drop_constraint("dispatch_delivery_id_fkey", type_="foreignkey")
    # what the metrics and traces read
    op.create_index("ix_attempt_ended", "attempt", ["ended_at"])
    op.create_index("ix_outbox_posted", "outbox", ["posted_at"])
    op.drop_index("ix_delivery_open", "delivery")
    op.create_index("ix_delivery_open", "delivery", ["state", "origin", "not_before"])
    op.create_index("ix_dispatch_state", "dispatch", ["state"])
    op.create_table(
        "clone",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("commit", sa.String(), nullable=False),
        sa.Column("mark", sa.String(), nullable=False),
        sa.Column("blob", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"]),
        sa.PrimaryKeyConstraint("run_id"),
    )

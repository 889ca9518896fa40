"""The conversation: pauses and ends of threads, gates asked anew, what runs are told meanwhile, schedules."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def _moment(name: str) -> "sa.Column[object]":
    return sa.Column(name, sa.DateTime(timezone=True), nullable=True)


def _text(name: str, default: str = "") -> "sa.Column[object]":
    return sa.Column(name, sa.String(), nullable=False, server_default=default)


def upgrade() -> None:
    with op.batch_alter_table("thread") as table:
        table.add_column(_text("paused_by"))
        table.add_column(_moment("paused_at"))
        table.add_column(_text("gone"))
    with op.batch_alter_table("commentversion") as table:
        table.add_column(_text("kind", "comment"))
        table.add_column(sa.Column("place", sa.JSON(), nullable=True))
    with op.batch_alter_table("dispatch") as table:
        table.add_column(_text("target_kind", "comment"))
        table.add_column(sa.Column("reply_to", sa.BigInteger(), nullable=True))
        table.add_column(sa.Column("trial", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("gate") as table:
        table.add_column(sa.Column("asked", sa.Integer(), nullable=False, server_default="1"))
        table.add_column(_moment("remind_at"))
        table.add_column(_moment("reminded_at"))
        table.add_column(_text("altered_by"))
        table.add_column(_text("note"))
        table.create_index("ix_gate_remind_at", ["remind_at"])
    with op.batch_alter_table("run") as table:
        table.add_column(_moment("status_at"))
        table.create_index("ix_run_status_at", ["status_at"])
    with op.batch_alter_table("attempt") as table:
        table.add_column(sa.Column("taken_from", sa.String(), nullable=True))
    with op.batch_alter_table("outbox") as table:
        table.add_column(_text("target_kind", "comment"))
    op.create_table(
        "steer",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("comment_id", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempt_id", sa.String(), nullable=True),
        _moment("read_at"),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempt.id"]),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_steer_run_id", "steer", ["run_id"])
    op.create_table(
        "schedule",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
        sa.Column("repository", sa.JSON(), nullable=False),
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("cron", sa.String(), nullable=False),
        sa.Column("thread", sa.Integer(), nullable=True),
        sa.Column("commit", sa.String(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("repository_id", "workflow"),
    )
    op.create_index("ix_schedule_due", "schedule", ["next_at"])

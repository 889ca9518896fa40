"""A duty is held as long as its holder lives, as a run is: it has no end of its own any more."""

from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    with op.batch_alter_table("duty") as table:
        table.drop_column("until")

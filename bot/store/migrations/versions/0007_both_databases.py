"""What SQLite never asked for: whole numbers of 64 bits, and text whose order is not that of the server's language.

Every column of every table up to here is brought to it, by its type. SQLite's are so already.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    looked = sa.inspect(connection)
    quoted = connection.dialect.identifier_preparer.quote
    for (_, name), columns in sorted(looked.get_multi_columns().items()):
        changes = []
        for column in columns:
            kind = column["type"]
            if isinstance(kind, sa.Integer) and not isinstance(kind, sa.BigInteger):
                changes.append(f"ALTER {quoted(column['name'])} TYPE BIGINT")
            elif isinstance(kind, sa.String):
                wanted = sa.String(kind.length, collation="C").compile(connection.dialect)
                changes.append(f"ALTER {quoted(column['name'])} TYPE {wanted}")
        if changes and name != "alembic_version":
            # one statement a table, which makes it anew once
            op.execute(f"ALTER TABLE {quoted(name)} {', '.join(changes)}")

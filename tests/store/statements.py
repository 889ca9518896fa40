"""What is asked of the database, by whichever way it goes there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event

from bot.store import prepared


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    """The statements of this engine's connections, in the order they are sent."""
    told: list[str] = []
    send = prepared.send

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        told.append(statement)

    def noted(connection: Any, to: Any, text: str, *bound: Any) -> Any:
        if connection.engine is engine:
            told.append(text)
        return send(connection, to, text, *bound)

    event.listen(engine, "before_cursor_execute", note)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepared, "send", noted)
        try:
            yield told
        finally:
            event.remove(engine, "before_cursor_execute", note)

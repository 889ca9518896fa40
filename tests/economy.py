"""What thousands of tests in one process need to have only once, so that each costs what it alone does.

None of it is anything that a test can see: a statement that is compiled already is the same statement, and a TLS
context that trusts the same authorities is the same context.
"""

from __future__ import annotations

import functools
import gc
import ssl
from collections.abc import Hashable
from types import FunctionType, NoneType
from typing import Any

from sqlalchemy import Connection, Dialect, Engine, event


def begin() -> None:
    """Before anything is collected: what is imported meanwhile stays, so that nobody need look for what does not."""
    gc.disable()
    _share_statements()
    _share_authorities()


def collected() -> None:
    """All modules and tests are there and will be until the end: no collection of garbage looks at them again."""
    gc.freeze()
    gc.enable()


def _share_statements() -> None:
    """Engines of one kind take their compiled statements from one cache, instead of each from one of its own.

    A bot makes its engines once, and a test makes them anew: to compile every statement took a tenth of all time.
    """
    first: dict[object, Engine] = {}
    #: the dialects of those, which keep them
    shared: set[int] = set()

    # a class's own event, as stores make their engines where no test reaches; the first connection comes after the
    # engine has learned from its server what its dialect should know
    @event.listens_for(Engine, "engine_connect")
    def on_connect(connection: Connection) -> None:
        engine = connection.engine
        if id(engine.dialect) in shared:
            return
        found = first.setdefault(_traits(engine.dialect), engine)
        shared.add(id(found.dialect))
        connection.dialect = engine.dialect = found.dialect
        engine._compiled_cache = found._compiled_cache


def _traits(dialect: Dialect) -> object:
    """Whatever may make two dialects different: how they were made, and what their server said."""
    plain = (bool, int, str, tuple, NoneType, FunctionType)
    return type(dialect), frozenset(
        (name, value)
        for name, value in vars(dialect).items()
        if isinstance(value, plain) and isinstance(value, Hashable)
    )


def _share_authorities() -> None:
    """HTTP clients read the authorities that they trust once: 20 ms for each client, of which a story has several."""
    create = ssl.create_default_context
    shared = functools.cache(create)

    @functools.wraps(create)
    def created(*args: Any, **kwargs: Any) -> ssl.SSLContext:
        # as httpx asks: for those of a file or a folder, and nothing else. What has others is made to be changed
        once = not args and kwargs.keys() in ({"cafile"}, {"capath"})
        return shared(**kwargs) if once else create(*args, **kwargs)

    ssl.create_default_context = created

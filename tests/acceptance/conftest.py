"""A real SQLite file for each test."""

from tests.engine.conftest import migrated, store

__all__ = ["migrated", "store"]

"""A real SQLite file for each test."""

from tests.engine.conftest import store

__all__ = ["store"]

"""A real SQLite file for each test."""

from tests.engine.conftest import isolated

__all__ = ["isolated"]

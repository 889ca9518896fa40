"""What runs of this room may need of the machine."""

from tests.workspace.conftest import isolated

__all__ = ["isolated"]

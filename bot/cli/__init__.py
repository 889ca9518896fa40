"""The command `threadsmith`: one module per command."""

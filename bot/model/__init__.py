"""Frozen nouns and transition tables. No I/O."""

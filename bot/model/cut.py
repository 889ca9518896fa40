"""The line that stands where bytes were let go, and what it looks like."""

from __future__ import annotations

import re

MARK = re.compile(r"\[… [0-9]{1,20} of [0-9]{1,20} bytes cut …\]")


def mark(cut: int, size: int) -> str:
    """How many bytes are missing here, of how many."""
    return f"[… {cut} of {size} bytes cut …]"

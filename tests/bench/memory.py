"""What a process holds of the machine's memory."""

from __future__ import annotations

from pathlib import Path


def resident_mb(pid: int) -> float:
    """Resident memory in MB (10⁶ bytes), as the kernel counts it."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise ProcessLookupError(pid)

"""The machine that figures were measured on, without anything that names it among others."""

from __future__ import annotations

import os
import platform
import sqlite3
import time
from pathlib import Path
from typing import Any

from tests.bench.figures import middle, shown

_SYNCS = 200


def described(folder: Path) -> dict[str, Any]:
    """Processor, memory, versions, and how long the disk of `folder` takes to sync 4 KiB (median, milliseconds)."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "ram_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "kernel": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "fsync_ms": shown(fsync_ms(folder)),
    }


def fsync_ms(folder: Path) -> float:
    """Milliseconds that one append of 4 KiB with its `fdatasync` takes, median of two hundred."""
    file = folder / "fsync"
    taken = []
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        for _ in range(_SYNCS):
            begun = time.perf_counter()
            os.write(descriptor, b"\0" * 4096)
            os.fdatasync(descriptor)
            taken.append((time.perf_counter() - begun) * 1e3)
    finally:
        os.close(descriptor)
        file.unlink()
    return middle(taken)


def _cpu() -> str:
    with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
        names = [line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))]
    return names[0] if names else platform.machine()

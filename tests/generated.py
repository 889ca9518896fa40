"""Files of the repository that are made from the code: `python -m tests.generated` writes them, `--check` compares.

A generated file is one row of `FILES`: its path from the repository's root, and the function that gives its text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from bot.workflows.schemas import json_schema
from tests.docs.parts import PAGES, page

ROOT = Path(__file__).resolve().parents[1]

FILES: Mapping[str, Callable[[], str]] = {
    "config/bot.schema.json": partial(json_schema, "bot"),
    "config/workflow.schema.json": partial(json_schema, "workflow"),
    # these are written by hand, but for what stands between their markers
    **{path: partial(page, ROOT / path) for path in PAGES},
}


def drifted(root: Path = ROOT, files: Mapping[str, Callable[[], str]] = FILES) -> list[str]:
    """The paths whose text differs from what the code gives, or that are missing."""
    found = []
    for path, text in files.items():
        file = root / path
        if not file.is_file() or file.read_text(encoding="utf-8") != text():
            found.append(path)
    return found


def write(root: Path = ROOT, files: Mapping[str, Callable[[], str]] = FILES) -> list[str]:
    """Bring every file up to date; the paths that changed."""
    changed = drifted(root, files)
    for path in changed:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(files[path](), encoding="utf-8")
    return changed


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0, or 1 if `--check` found a difference, or 2 for anything else on the command line."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m tests.generated [--check]", file=sys.stderr)
        return 2
    if arguments:
        for path in (differing := drifted()):
            print(f"{path} differs from the code; run `python -m tests.generated`", file=sys.stderr)
        return 1 if differing else 0
    for path in write():
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

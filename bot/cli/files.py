"""The configuration files of a repository on this machine, wherever somebody points into it."""

from __future__ import annotations

import os
from pathlib import Path

from bot.finding import Finding
from bot.workflows.findings import Findings
from bot.workflows.loader import load

_WORKFLOWS = ".github/bot/workflows/"


def read_files(path: Path) -> tuple[dict[str, str], list[Finding]]:
    """The configuration files that `path` stands for, by repository path.

    It is a repository's root; its `.github`, or a folder of it; a file in there; or a file by itself, a `bot.yml` with
    the folder `bot` beside it, or one workflow. A file that is not UTF-8 is a finding; so is a link in a repository,
    which the bot does not follow either: it could lead out of it.
    """
    base = _base(path)
    if base is None and _is_workflow(path):
        return _read([(path, f"{_WORKFLOWS}{path.stem}.yml")], {".github/bot.yml": "version: 1\n"})
    top, extra = (path, path.parent / "bot") if base is None else (base / "bot.yml", base / "bot")
    # the other ending is not read, and the checks say so
    names = [(top, ".github/bot.yml")]
    names += [] if base is None else [(top.with_name("bot.yaml"), ".github/bot.yaml")]
    folders = [] if base is None else [(base, ".github"), (extra, ".github/bot")]
    linked = [_link(name) for folder, name in folders if folder.is_symlink()][:1]
    if linked:
        return {}, linked
    names += [(file, f".github/bot/{file.relative_to(extra).as_posix()}") for file in sorted(extra.rglob("*"))]
    links = [name for file, name in names if base is not None and file.is_symlink()]
    files, findings = _read([(file, name) for file, name in names if file.is_file() and name not in links], {})
    return files, sorted([*findings, *map(_link, links)])


def repository_of(path: Path) -> Path | None:
    """The root of the repository that `path` stands in; None for a file by itself."""
    base = _base(path)
    return base.resolve().parent if base is not None else None


def _base(path: Path) -> Path | None:
    """The `.github` of a path; None for a file by itself."""
    # as it was written first: a link in a repository belongs to where it stands, not to where it leads
    for here in (Path(os.path.abspath(path)), path.resolve()):
        for folder in (here, *here.parents) if here.is_dir() else here.parents:
            if folder.name == ".github":
                # `.github/workflows/ci.yml` and its like are GitHub's own
                own = here.is_dir() or here == folder / "bot.yml" or here.is_relative_to(folder / "bot")
                return folder if own else None
    return path / ".github" if path.is_dir() else None


def _is_workflow(path: Path) -> bool:
    """Whether a file by itself is one workflow: it has `steps` and no `version`."""
    try:
        document = load(str(path), path.read_text(encoding="utf-8-sig"), Findings())
    except UnicodeDecodeError:
        return False
    data = document.data if document is not None else None
    return isinstance(data, dict) and "steps" in data and "version" not in data


def _link(name: str) -> Finding:
    return Finding(name, 1, 1, "error", "symlink", "a symlink is not followed", "put the file itself here")


def _read(found: list[tuple[Path, str]], files: dict[str, str]) -> tuple[dict[str, str], list[Finding]]:
    findings: list[Finding] = []
    for file, name in found:
        try:
            files[name] = file.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            message = f"byte {error.start} is not UTF-8"
            findings.append(Finding(name, 1, 1, "error", "not_utf8", message, "save it as UTF-8"))
    return files, findings

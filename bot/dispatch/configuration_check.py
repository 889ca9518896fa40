"""A pull request that edits the bot's files gets a check: what would be wrong with them, at its head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.dispatch import configuration
from bot.dispatch.bases import Bases
from bot.dispatch.configuration import Configured
from bot.dispatch.occasion import Heard, Occasion
from bot.finding import Finding
from bot.model.slot import Slot
from bot.publish import findings_table
from bot.store import Session
from bot.store.tables import Thread
from bot.workflows.configuration import configures

_ACTIONS = frozenset({"opened", "reopened", "synchronize"})
#: the check's name, which a branch rule may require
NAME = "threadsmith configuration"
_LEVELS = {"error": "failure", "warning": "warning"}


async def hear_configuration(occasion: Occasion) -> Heard | None:
    """Check what the head of a pull request would configure; nothing runs, and nobody needs a role for it.

    So of what it extends nothing is told that whoever reads the check could not read: a fork's head, which anybody can
    write, has no base read, and none that is private is read for a repository that is not.
    """
    event = occasion.event
    if event.name != "pull_request" or event.action not in _ACTIONS or event.pull is None:
        return None
    parts, sha = occasion.parts, event.pull.head_sha
    withheld = "" if event.pull.head_repository == event.repository.id else "a fork's head names it"
    bases = Bases(parts.github, occasion.identity.serves, openly=True, withheld=withheld)
    files = await occasion.client.pull_files(event.issue.number)
    changed = {path for file in files for path in _paths(file)}
    if not any(map(configures, changed)):
        return None
    found = await configuration.at(occasion.client, event.repository, parts.memo, sha, bases)
    payload = check_payload(found, sha)

    def act(session: Session, thread: Thread) -> None:
        slot = Slot(f"thread/{thread.id}", "check", step=sha)
        parts.speaker.check(session, thread, slot, payload)

    return Heard(f"the configuration at {sha[:7]} was checked", act)


def _paths(file: Any) -> Sequence[str]:
    return [path for path in (file.path, file.previous_path) if path]


def check_payload(found: Configured, sha: str) -> dict[str, Any]:
    """The check as `Speaker.check` takes it: a failure with an error, neutral with warnings alone."""
    errors = sum(one.severity == "error" for one in found.findings)
    warnings = len(found.findings) - errors
    counted = [_count(errors, "error")] if errors else []
    counted += [_count(warnings, "warning")] if warnings else []
    table = findings_table(found.findings)
    said = "Nothing is wrong with it." if not found.findings else table
    return {
        "name": NAME,
        "head_sha": sha,
        "status": "completed",
        "conclusion": "failure" if errors else "neutral" if warnings else "success",
        "title": ", ".join(counted) or "it can be used",
        "summary": f"{said}\n\n<sub>`threadsmith validate` finds the same on your machine; nothing was run</sub>",
        "annotations": [_annotation(one) for one in found.findings],
    }


def _annotation(finding: Finding) -> dict[str, Any]:
    hint = f"\n{finding.hint}" if finding.hint else ""
    return {
        "path": finding.file,
        "start_line": finding.line,
        "end_line": finding.line,
        "level": _LEVELS[finding.severity],
        "title": finding.code,
        "message": f"{finding.message}{hint}",
    }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"

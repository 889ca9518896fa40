"""Findings as text for people, as JSON for programs, and as annotations for GitHub Actions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from bot.finding import Finding


def as_text(findings: Iterable[Finding]) -> str:
    """One line each: `file:line:column: severity code: message (hint)`."""
    lines = []
    for one in findings:
        hint = f" ({one.hint})" if one.hint else ""
        lines.append(f"{one.file}:{one.line}:{one.column}: {one.severity} {one.code}: {one.message}{hint}\n")
    return "".join(lines)


def as_json(findings: Iterable[Finding]) -> str:
    """A list of `{severity, code, file, line, column, message, hint}`."""
    return json.dumps([one.as_json() for one in findings], ensure_ascii=False, indent=2) + "\n"


def as_github(findings: Iterable[Finding]) -> str:
    """Workflow commands, which Actions shows at the line.

    Source: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
    """
    lines = []
    for one in findings:
        places = f"file={_property(one.file)},line={one.line},col={one.column},title={_property(one.code)}"
        message = f"{one.message} ({one.hint})" if one.hint else one.message
        lines.append(f"::{one.severity} {places}::{_data(message)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


FORMATS: Mapping[str, Callable[[Iterable[Finding]], str]] = {"text": as_text, "json": as_json, "github": as_github}

"""A walk's report as it is printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from bot.cli.simulation.report import Prompt, Report, Visit


def as_json(report: Report) -> str:
    """For programs: every field of the report."""
    return json.dumps(asdict(report), ensure_ascii=False, indent=2)


def as_text(report: Report) -> str:
    """For people: an attempt a paragraph, then what was not reached, what to look at, and the end."""
    lines = [f"{name} = {value} (made up)" for name, value in report.assumed.items()]
    for number, visit in enumerate(report.visits, 1):
        lines += [""] if lines else []
        lines += _visit(number, visit)
    lines.append("")
    if report.unreached:
        lines.append(f"not reached: {', '.join(report.unreached)}")
    lines += [f"warning: {warning}" for warning in report.warnings]
    lines.append(f"{report.workflow}: {report.state}{f' ({report.reason})' if report.reason else ''}")
    return "\n".join(lines)


def _visit(number: int, visit: Visit) -> Iterator[str]:
    source = " (given)" if visit.given else ""
    yield f"{number:>3}  {visit.name}  {visit.kind}  {visit.state}{source}"
    if visit.prompt is not None:
        yield from (f"     {line}" for line in _prompt(visit.prompt))
    if visit.asked is not None:
        options = f" ({', '.join(visit.asked.options)})" if visit.asked.options else ""
        question = " ".join(visit.asked.question.split())
        asks = {"answer": "asks", "event": "waits for", "time": "waits"}[visit.asked.kind]
        yield f"     {' '.join(part for part in (asks, question) if part)}{options}: {visit.asked.answered}"
    if visit.error:
        yield f"     failed: {visit.error}"
    if visit.why:
        yield f"     → {visit.to or 'failure of the row'}: {visit.why}"
    yield from (f"     warning: {warning}" for warning in visit.warnings)


def _prompt(prompt: Prompt) -> Iterator[str]:
    yield f"prompt: {prompt.bytes:,} bytes, about {prompt.tokens:,} tokens"
    for block in prompt.blocks:
        count = f" ×{block.count}" if block.count > 1 else ""
        yield f"  {block.kind}{count}: {block.bytes:,} bytes, about {block.tokens:,} tokens"
    if prompt.uncomputed:
        yield f"  not computed here: {', '.join(prompt.uncomputed)}"

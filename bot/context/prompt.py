"""Putting a prompt together: blocks in a fixed order, the stable ones first, within a bound, with its manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.context.blocks import fence
from bot.context.inputs import InputResult
from bot.context.reviews import place_block
from bot.context.rules import RULES
from bot.context.sanitise import sanitise
from bot.context.snapshot import ThreadSnapshot
from bot.context.tokens import estimate
from bot.context.window import Selection, Shown
from bot.errors import UserError
from bot.model.context import Block, BlockRecord, Context, Manifest, Trust
from bot.model.ident import compact, digest
from bot.model.thread import ReviewPlace

#: what to change where a block of this kind is too large
_WAYS_OUT = {
    "system": "shorten the agent's `prompt`",
    "run": "shorten the workflow's `goal`",
    "issue": "shorten the issue's text",
    "context": "set `fidelity: compact` or an `injection_cap`",
    "reference": "name a part of the result in `context:` instead of the whole",
    "pin": "unpin it (`unpin <number>`)",
    "comment": "lower `history_comment_count`",
    "review": "ask about fewer places of the changes at once",
    "thread": "go on in a new review thread",
    "input": "lower the input's `max_bytes`, or print less",
    "rework": "say what to change in fewer words",
    "request": "ask in fewer words",
    "task": "insert less into the step's `prompt`",
}


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Row 2 of a prompt. `asked_by` is a login; `run_file` the path of `.bot/run.json` in the workspace, if any."""

    repository: str
    workflow: str
    step: str
    asked_by: str
    goal: str = ""
    run_file: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """The triggering text as the delivery held it (it is sanitised here). `trust` is that of whoever asked."""

    text: str
    source: str
    trust: Trust = "writer"


def assemble(
    *,
    key: bytes,
    agent_prompt: str,
    facts: RunFacts,
    snapshot: ThreadSnapshot,
    selection: Selection,
    places: Sequence[ReviewPlace] = (),
    inputs: Sequence[InputResult] = (),
    request: Request | None = None,
    task: str = "",
    run_context: Sequence[Block] = (),
    references: Sequence[Block] = (),
    rework: Block | None = None,
    rules: str = RULES,
    limit: int = 0,
    fidelity: str = "",
    fidelity_reason: str = "",
    warnings: Sequence[str] = (),
) -> Context:
    """The prompt of one attempt and the record of what went in.

    `key` is the engine's secret behind the nonces. `task` is the step's own prompt, foreign values in it already fenced
    (`fence_value`). `places` are where the request stands in a pull request's changes. `limit` is
    `limits.prompt_tokens` (0: none). Raises UserError `prompt_too_large`, which names the three largest blocks, their
    sizes, and what to change.
    """
    system = "\n\n".join(part.strip() for part in (agent_prompt, rules) if part.strip()) + "\n"
    removed: dict[int, tuple[str, ...]] = {}
    fenced: list[Block] = [Block("run", "run", "untrusted", _facts(facts, snapshot), "run")]
    if selection.body:
        author = f"issue {snapshot.issue.number} by {snapshot.issue.author.login} ({selection.body_role})"
        removed[len(fenced)] = snapshot.issue_removed
        fenced.append(Block("issue", author, selection.body_trust, snapshot.issue.body, "issue body"))
    fenced += [*run_context, *references]
    for kind, shown in (("pin", selection.pins), ("comment", selection.comments)):
        for entry in shown:
            removed[len(fenced)] = entry.message.removed
            fenced.append(_comment(kind, entry))
    for place in places:
        block, removed[len(fenced)] = place_block(place)
        fenced.append(block)
    for entry in selection.thread:
        removed[len(fenced)] = entry.message.removed
        fenced.append(_comment("thread", entry))
    fenced += [result.block for result in inputs]
    if rework:
        fenced.append(rework)
    if request:
        clean = sanitise(request.text)
        removed[len(fenced)] = clean.removed
        fenced.append(Block("request", request.source, request.trust, clean.text, "request"))
    pieces = [fence(key, block) for block in fenced]
    blocks = [Block("system", "agent", "repository", system, "system"), *fenced]
    texts = [system, *pieces]
    if task.strip():
        blocks.append(Block("task", "step", "repository", task.strip("\n") + "\n", "step prompt"))
        texts.append(blocks[-1].text)
    records = tuple(
        BlockRecord(
            kind=block.kind,
            label=block.label or block.source,
            bytes=len(text.encode("utf-8", "replace")),
            tokens=estimate(text),
            source=block.source,
            trust=block.trust,
            # the system block is no fenced one
            removed=removed.get(index - 1, ()),
        )
        for index, (block, text) in enumerate(zip(blocks, texts, strict=True))
    )
    tokens = sum(record.tokens for record in records)
    if 0 < limit < tokens:
        raise _too_large(records, facts.step, tokens, limit)
    prompt = "\n".join(texts[1:])
    manifest = Manifest(
        comments=selection.records,
        inputs=tuple(result.record for result in inputs),
        blocks=records,
        window=selection.window,
        authors=selection.authors,
        fidelity=fidelity,
        fidelity_reason=fidelity_reason,
        reads=snapshot.reads,
        notes=selection.notes,
        warnings=tuple(warnings),
        tokens=tokens,
        bytes=len(system.encode("utf-8", "replace")) + len(prompt.encode("utf-8", "replace")),
        digest=digest(system, prompt),
    )
    return Context(system, prompt, tuple(blocks), manifest)


def _facts(facts: RunFacts, snapshot: ThreadSnapshot) -> str:
    """One fact a line, each value quoted as JSON, so that no title can begin a line of its own."""
    issue = snapshot.issue
    values: dict[str, object] = {
        "repository": facts.repository,
        "pull_request" if issue.is_pull_request else "issue": issue.number,
        "title": issue.title,
        "author": issue.author.login,
        "labels": list(issue.labels),
        "state": issue.state,
        "url": issue.url,
        "workflow": facts.workflow,
        "step": facts.step,
        "goal": facts.goal,
        "asked_by": facts.asked_by,
        "run_file": facts.run_file,
    }
    return "".join(f"{name}: {compact(value)}\n" for name, value in values.items() if value != "")


def _comment(kind: str, entry: Shown) -> Block:
    message = entry.message
    source = f"{message.label} ({entry.role}), {'; '.join(message.facts)}"
    return Block(kind, source, entry.trust, message.text, f"{kind} {message.id} by {message.author.login}")


def _too_large(records: Sequence[BlockRecord], step: str, tokens: int, limit: int) -> UserError:
    largest = sorted(records, key=lambda record: record.tokens, reverse=True)[:3]
    ways = dict.fromkeys(_WAYS_OUT.get(record.kind, "give the step less") for record in largest)
    return UserError(
        "prompt_too_large",
        f"the prompt of `{step}` has about {tokens:,} tokens; `limits.prompt_tokens` is {limit:,}",
        f"To make it smaller: {'; '.join(ways)}. Or raise `limits.prompt_tokens`.",
        "\n".join(f"{record.label}: about {record.tokens:,} tokens, {size(record.bytes)}" for record in largest),
    )


def size(count: int) -> str:
    """Bytes for people: `812 bytes`, `64.0 KiB`."""
    return f"{count} bytes" if count < 1024 else f"{count / 1024:,.1f} KiB"

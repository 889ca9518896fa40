"""Repositories' files in few words, what is found in them, and runs of their workflow `main`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bot.engine import commit
from bot.engine.commit import Begun
from bot.engine.delivered import Delivered, delivered
from bot.finding import Finding
from bot.model.outcome import Outcome
from bot.store import Store, snapshots
from bot.workflows import Configuration, builtin_files, check, load
from bot.workflows.step import AskingStep
from tests.engine.play import Play, Script
from tests.engine.scene import Room, open_case, open_room
from tests.engine.talk import thread

BOT = ".github/bot.yml"
NONE: Mapping[str, str] = MappingProxyType({})


def page(steps: str, flow: str = "", top: str = "", agents: str = "") -> str:
    """A `bot.yml` whose workflow `main` has these steps; each part is YAML at any indent."""
    lines = ["version: 1", *_block(top, 0), "agents:", "  writer: {model: demo:helper}", *_block(agents, 2)]
    return "\n".join([*lines, "workflows:", "  main:", *_block(flow, 4), "    steps:", *_block(steps, 6), ""])


def _block(text: str, indent: int) -> list[str]:
    lines = text.strip("\n").splitlines()
    own = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return [f"{' ' * indent}{line[own:]}" if line.strip() else "" for line in lines]


def findings(steps: str, files: Mapping[str, str] = NONE, **more: str) -> tuple[Finding, ...]:
    """What is found in a page."""
    return check({BOT: page(steps, **more), **files}, builtin_files())[1]


def fine(steps: str, files: Mapping[str, str] = NONE, **more: str) -> None:
    """A correct file gives no finding."""
    assert findings(steps, files, **more) == ()


def refused(code: str, steps: str, files: Mapping[str, str] = NONE, **more: str) -> Finding:
    """The one finding of a page: an error at the `^`, with what was expected and a hint."""
    return _found("error", code, steps, files, more)


def warned(code: str, steps: str, files: Mapping[str, str] = NONE, **more: str) -> Finding:
    """The one finding of a page: a warning at the `^`."""
    return _found("warning", code, steps, files, more)


def _found(severity: str, code: str, steps: str, files: Mapping[str, str], more: Mapping[str, str]) -> Finding:
    text = page(steps, **more)
    before, mark, after = text.partition("^")
    assert mark, "no mark"
    at = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    found = check({BOT: before + after, **files}, builtin_files())[1]
    assert [(one.severity, one.code) for one in found] == [(severity, code)], found
    (one,) = found
    assert (one.file, one.line, one.column) == (BOT, *at), one
    assert one.message
    return one


def configured(steps: str, files: Mapping[str, str] = NONE, **more: str) -> Configuration:
    """A page as it is used."""
    return load({BOT: page(steps, **more), **files}, builtin_files())


async def playing(
    store: Store,
    steps: str,
    script: Script | None = None,
    files: Mapping[str, str] = NONE,
    guid: str = "g",
    **more: str,
) -> Play:
    """A run of a page with scripted outcomes, before its first step."""
    return Play(await open_case(store, page(steps, **more), beside=files, guid=guid), dict(script or {}))


async def played(
    store: Store, steps: str, script: Script | None = None, files: Mapping[str, str] = NONE, **more: str
) -> Play:
    """The same, as far as it goes by itself."""
    return await (await playing(store, steps, script, files, **more)).go()


async def handed(play: Play, begun: Begun) -> Delivered:
    """What of the run an attempt under way is given for its prompt."""
    assert isinstance(begun.step, AskingStep)

    async def read(digest: str) -> bytes:
        return await play.case.store.read(lambda session: snapshots.get_blob(session, digest))

    return await delivered(begun, begun.step, read)


async def until(play: Play, step: str) -> Begun:
    """Perform until a step is under way; its attempt."""
    await play.more()
    while True:
        for begun in play.begun:
            if begun.step.id == step:
                return begun
        assert play.begun, f"`{step}` did not begin: {play.started}, {play.case.ends}"
        await play.step()


@asynccontextmanager
async def acting(
    store: Store,
    directory: Path,
    steps: str,
    *comments: dict[str, Any],
    more: Mapping[str, Any] = MappingProxyType({}),
    **parts: str,
) -> AsyncIterator[Room]:
    """A desk that really does the steps of a page: processes without isolation, the demo model, a scripted thread."""
    async with open_room(store, directory, page(steps, **parts), **more) as room:
        thread(room, *comments)
        yield room


async def act(room: Room) -> list[Outcome]:
    """Do every step until the run ends or waits; what each came to."""
    outcomes: list[Outcome] = []
    terms = await room.terms()
    advance = await room.case.store.write(
        lambda session: commit.advance(session, room.case.run_id, terms, room.tools.clock.now())
    )
    begun = list(advance.begun)
    while begun:
        one = begun.pop(0)
        performed = await room.desk.perform(one, terms)
        outcomes.append(performed.outcome)
        advance = await room.case.store.write(
            lambda session, one=one, performed=performed: commit.record(  # type: ignore[misc]  # bound at once
                session, one, performed, terms, room.tools.clock.now()
            )
        )
        begun.extend(advance.begun)
    return outcomes

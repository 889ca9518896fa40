"""What every step left, as files for the commands of later steps: `$BOT_RUN_DIR`.

`<place>/` holds `response.md, stdout, stderr, result.json` of a step's newest attempt, `<place>/attempts/<n>/` those of
the older. The place is the step's id, in an inner frame behind its frame's path. Prompts are not there. The folder is
made from the rows, so that it is on whatever machine the run goes on; what is in it is written once.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from bot.engine.frames import Tree
from bot.errors import OperatorError
from bot.model.ident import compact
from bot.model.state import AttemptState
from bot.store.tables import Attempt
from bot.workflows import Configuration, Step
from bot.workflows.step import AgentStep, AskingStep, CodeStep, ExecInput, RunStep

#: the bytes of a digest
ReadBlob = Callable[[str], Awaitable[bytes]]

#: bytes of one folder's name, and of a place; Linux takes 255 and 4,095
_NAME_MAX = 100
_PLACE_MAX = 1_000
#: stands in no id and in no quoted key, so that a name that was cut is no other's
_CUT = "+"
_FILES = ("response.md", "stdout", "stderr", "result.json")


def place_of(path: str, step: str) -> str:
    """The folder of a step in the frame at `path`, relative, unlike that of every other step and frame.

    Keys of elements are quoted in `path`, so that none leads out of it. What is too long for a file's name is cut, with
    a digest of the whole behind it.
    """
    whole = [name for name in path.split("/") if name]
    names = [*map(_short, whole), _short(step)]
    if len("/".join(names)) > _PLACE_MAX:
        names = [f"{_CUT}{_digest(path)}", _short(step)]
    return "/".join(names)


def _short(name: str) -> str:
    return name if len(name) <= _NAME_MAX else f"{name[: _NAME_MAX - 40]}{_CUT}{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def counts(attempt: Attempt) -> bool:
    """Whether an attempt leaves files: it came to its end, well or not."""
    return attempt.state in (AttemptState.SUCCESS, AttemptState.FAIL)


class RunFolder:
    """The files of one run, in a new folder below `parent`. What this process has not written itself is not trusted.

    `redact` takes secrets out of texts.
    """

    def __init__(self, parent: Path, redact: Callable[[str], str]) -> None:
        self._parent, self._redact = parent, redact
        self._path: Path | None = None
        #: by place: which attempt lies there
        self._newest: dict[str, int] = {}
        self._kept: set[str] = set()
        self._lock = threading.Lock()

    async def lay_out(self, tree: Tree, read_blob: ReadBlob) -> Path:
        """Write what has ended since the last time; the folder. Raises OperatorError where the disk refuses."""
        for level in (tree.root, *tree.root.below()):
            for attempt in level.attempts:
                if counts(attempt) and attempt.id not in self._kept:
                    files = await self._files(attempt, read_blob)
                    await asyncio.to_thread(self._put, place_of(level.frame.path, attempt.step), attempt, files)
        return await asyncio.to_thread(self._made)

    async def _files(self, attempt: Attempt, read_blob: ReadBlob) -> dict[str, str]:
        texts: dict[str, str] = {}
        for name, stream in (("response.md", "output"), ("stdout", "stdout"), ("stderr", "stderr")):
            digest = attempt.streams.get(stream)
            if digest is not None:
                texts[name] = (await read_blob(digest)).decode("utf-8", "replace")
            elif attempt.kind in ("run", "code") or (name == "response.md" and attempt.output is not None):
                texts[name] = ""  # it said nothing, which is not the same as not being there
        if attempt.result is not None:
            texts["result.json"] = compact(attempt.result) + "\n"
        return texts

    def _made(self) -> Path:
        with self._lock:
            return self._folder()

    def _folder(self) -> Path:
        try:
            if self._path is None:
                self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._path = Path(tempfile.mkdtemp(prefix="steps-", dir=self._parent))
            return self._path
        except OSError as error:
            raise _refused(self._parent, error) from error

    def _put(self, place: str, attempt: Attempt, files: Mapping[str, str]) -> None:
        """In a thread, to its end whatever becomes of who waits for it: then what is known stays true."""
        clean = {name: self._redact(text).encode("utf-8", "replace") for name, text in files.items()}
        with self._lock:
            if attempt.id in self._kept:
                return
            folder = self._folder() / place
            try:
                _write(folder, clean, self._newest.get(place))
            except OSError as error:
                # nobody knows how far it came: the next one begins anew
                self._path = None
                self._newest.clear()
                self._kept.clear()
                raise _refused(folder, error) from error
            self._newest[place] = attempt.number
            self._kept.add(attempt.id)


def _write(folder: Path, files: Mapping[str, bytes], before: int | None) -> None:
    """Put an attempt's files into `folder`; those that lie there go to the attempt that they are of."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if before is not None:
        older = folder / "attempts" / str(before)
        older.mkdir(mode=0o700, parents=True)
        for name in _FILES:
            if (folder / name).exists():
                os.replace(folder / name, older / name)
    for name, data in files.items():
        draft = folder / f".{name}.new"
        draft.write_bytes(data)
        draft.chmod(0o400)
        os.replace(draft, folder / name)


def _refused(path: Path, error: OSError) -> OperatorError:
    return OperatorError(f"cannot write `{path}`: {error.strerror}", "see how full the disk is, and who owns it")


def has_commands(step: Step, configuration: Configuration) -> bool:
    """Whether commands run in a step, which can look at what earlier steps left."""
    if isinstance(step, (RunStep, CodeStep)):
        return True
    if not isinstance(step, AskingStep):
        return False
    tools = step.offered if isinstance(step, AgentStep) else ()
    return (
        configuration.agents[step.asked].runner is not None
        or any(isinstance(one, ExecInput) for one in step.inputs.values())
        or any(entry.name == "run_command" and entry.builtin is not None for entry in tools)
    )

"""What frames are given: places of files, what templates name of them, secrets, files that are handed on."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace
from typing import Any

import pytest

from bot.engine.frames import Level
from bot.engine.run_inputs import (
    SecretInputs,
    beginning,
    check_handed,
    files_of,
    handed_on,
    inputs,
    is_kept,
    path_of,
    seen_files,
    to_fetch,
    told,
)
from bot.errors import UserError
from bot.store.tables import Frame
from bot.workflows import InputViolation, builtin_files, load
from bot.workflows.paths import MISS, resolve
from bot.workflows.step import UsesStep

FILE = """\
version: 1
workflows:
  outer:
    inputs: {spec: {type: file}, text: {type: text, default: a}}
    steps: [{id: call, uses: inner, inputs: {one: "${{ inputs.spec }}", two: docs/b.md}}]
  inner:
    inputs: {one: {type: file, accept: [.md]}, two: {type: file, required: false}, key: {type: secret, required: false}}
    export: {from: [a]}
    steps: [{id: a, run: date}]
"""
CONTENT = b"# A\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
FACTS = {"url": "", "original_filename": "a.md", "mime": "text/markdown", "size_bytes": 4, "sha256_hex": DIGEST}


class Rows:
    """A run, as far as inputs look at it."""

    dispatch = SimpleNamespace(inputs={"spec": "docs/a.md", "text": "b"})


def levels() -> tuple[Level, Level, UsesStep]:
    """The frame of `outer`, and that of `inner` in it."""
    configuration = load({".github/bot.yml": FILE}, builtin_files())
    outer, inner = configuration.workflow_for("outer"), configuration.workflow_for("inner")
    assert outer is not None
    assert inner is not None
    top = Level(Frame(run_id="r", given={"files": {"spec": FACTS}}), outer.steps, outer)
    step = outer.steps[0]
    assert isinstance(step, UsesStep)
    frame = Frame(
        run_id="r", path="/call[a%2Fb]#1", given={"inputs": {"one": ".bot/inputs/spec"}, "files": {"one": FACTS}}
    )
    return top, Level(frame, inner.steps, inner, top, step), step


def test_what_templates_name() -> None:
    """The path and the slots of a file; its bytes only where somebody has read them."""
    top, within, _ = levels()
    rows: Any = Rows
    scope = {"inputs": inputs(rows, top)}
    assert resolve(scope, ("inputs", "spec")) == ".bot/inputs/spec"
    assert resolve(scope, ("inputs", "spec", "original_filename")) == "a.md"
    assert resolve(scope, ("inputs", "text")) == "b"
    assert resolve(scope, ("inputs", "spec", "bytes")) is MISS
    assert inputs(rows, top, {DIGEST: CONTENT})["spec.bytes"] == "IyBBCg=="
    assert inputs(rows, within)["one"] == ".bot/inputs/call[a%2Fb]#1/one"
    assert "spec" not in inputs(rows, within)


def test_a_step_sees_the_files_of_every_frame_that_it_is_in() -> None:
    """Each in its own place, with the same bytes."""
    top, within, _ = levels()
    assert seen_files(top) == {".bot/inputs/spec": DIGEST}
    assert seen_files(within) == {".bot/inputs/call[a%2Fb]#1/one": DIGEST, ".bot/inputs/spec": DIGEST}
    assert path_of(within.frame, "x" * 300).count("/") == 3
    assert beginning(within) is within
    assert files_of(top.frame)["spec"].mime == "text/markdown"
    assert (is_kept(top.frame), is_kept(Frame(run_id="r"))) == (True, False)


def test_the_callers_own_file_is_handed_on() -> None:
    """Its bytes are not read again; any other path is read, and one that is not accepted is refused."""
    top, within, step = levels()
    bound = {"one": ".bot/inputs/spec", "two": "docs/b.md"}
    handed = handed_on(top, within.workflow, bound)
    assert {name: facts.sha256_hex for name, facts in handed.items()} == {"one": DIGEST}
    assert list(to_fetch(top, within.workflow, bound)) == ["two"]
    assert list(to_fetch(top, within.workflow, {"one": ".bot/inputs/spec"})) == []
    check_handed(step, within.workflow, handed)
    pictures = {"one": within.workflow.inputs["one"].model_copy(update={"accept": ("image/*",)})}
    with pytest.raises(UserError, match="accepted are `image/\\*`") as refused:
        check_handed(step, within.workflow.model_copy(update={"inputs": pictures}), handed)
    assert refused.value.code == "file"


def test_a_secret_is_read_when_a_template_names_it() -> None:
    """Whether it is there, and everything else, reads nothing."""
    asked: list[str] = []

    def read(name: str) -> str:
        asked.append(name)
        return "value"

    scope = {"inputs": SecretInputs({"key": "TOKEN", "area": "api"}, frozenset({"key", "none"}), read)}
    assert "key" in scope["inputs"]
    assert resolve(scope, ("inputs", "area")) == "api"
    assert resolve(scope, ("inputs", "none")) is MISS
    assert (len(scope["inputs"]), sorted(scope["inputs"]), asked) == (2, ["area", "key"], [])
    assert resolve(scope, ("inputs", "key")) == "value"
    assert asked == ["TOKEN"]


def test_what_is_told() -> None:
    """The class once, then each reason on one line."""
    wrong = [InputViolation("a", "file", "`a`: it is\n empty"), InputViolation("b", "file", "`b`: gone")]
    assert told(wrong) == "file: `a`: it is empty; `b`: gone"

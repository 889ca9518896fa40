"""The kind `code`: real bodies in real processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from bot.model.outcome import Done, Failed, Outcome
from bot.steps.code import RETURN_MAX, perform_code
from bot.workspace import Sandbox
from bot.workspace.supervised import Supervised

WHERE = ".github/bot.yml line 3"


async def perform(
    tmp_path: Path, body: str, sandbox: Sandbox | None = None, *, timeout: float = 30, **inputs: Any
) -> Outcome:
    return await perform_code(
        body, inputs, cwd=tmp_path, env={"NAME": "x y"}, timeout=timeout, sandbox=sandbox or Supervised(), where=WHERE
    )


async def done(tmp_path: Path, body: str, sandbox: Sandbox | None = None, **inputs: Any) -> Done:
    outcome = await perform(tmp_path, body, sandbox, **inputs)
    assert isinstance(outcome, Done), outcome
    return outcome


async def failed(
    tmp_path: Path, body: str, sandbox: Sandbox | None = None, *, timeout: float = 30, **inputs: Any
) -> Failed:
    outcome = await perform(tmp_path, body, sandbox, timeout=timeout, **inputs)
    assert isinstance(outcome, Failed), outcome
    return outcome


async def test_what_it_returns_is_the_result(sandbox: Sandbox, tmp_path: Path) -> None:
    """And what it prints the output, on either back end; it runs in its folder with its variables."""
    (tmp_path / "file").write_text("here")
    body = (
        "import os, sys\nprint(open('file').read(), os.environ['NAME'])\n"
        "print('err', file=sys.stderr)\nreturn {'n': n + 1}"
    )
    outcome = await done(tmp_path, body, sandbox, n=1)
    assert outcome == Done("here x y\n", {"n": 2}, 0, "here x y\n", "err\n")


DEEP: Any = {"leaf": [None, True, 1.5, "${{ steps.x.output }}", "' \" \\ \n \u2028 \ud800 😀"]}
for _ in range(60):
    DEEP = {"k": [DEEP]}


async def test_inputs_are_typed_and_whole(tmp_path: Path) -> None:
    """Of any depth, and whatever stands in them: nothing is scanned or quoted."""
    code = "'''; import os; raise SystemExit(9) #"
    outcome = await done(
        tmp_path,
        "return [deep, code, type(n).__name__, nothing, yes]",
        deep=DEEP,
        code=code,
        n=2**70,
        nothing=None,
        yes=True,
    )
    assert outcome.result == [DEEP, code, "int", None, True]


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("x = 1", None),
        ("return", None),
        ("return (1, [2.5, 'é', '\\ud800'], {'a': None})", [1, [2.5, "é", "\ud800"], {"a": None}]),
        ("text = '''\n  kept\n'''\nreturn text", "\n  kept\n"),
        ("from dataclasses import dataclass, asdict\n@dataclass\nclass P:\n    x: int\nreturn asdict(P(1))", {"x": 1}),
        ("def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nreturn [fib(i) for i in range(9)][-1]", 21),
        ("import sys\nreturn sys.stdin.read()", ""),
    ],
)
async def test_bodies(tmp_path: Path, body: str, result: Any) -> None:
    """Whatever a function can do."""
    assert (await done(tmp_path, body)).result == result


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return {1, 2}", "it is `set`"),
        ("return {'items': [1, {'when': __import__('datetime').date.today()}]}", "`items[1].when` is `date`"),
        ("return {'a': {1: 2}}", "`a` is a key of type `int`"),
        ("return [float('nan')]", "`[0]` is the number nan"),
        ("x = []\nx.append(x)\nreturn x", "`[0]` is a `list` that holds itself"),
        ("x = 1\nfor _ in range(5000):\n    x = [x]\nreturn x", "nested more than 200 levels"),
        ("return 10 ** 10000", "digits"),
        ("return (i for i in [])", "it is `generator`"),
    ],
)
async def test_what_is_no_json(tmp_path: Path, body: str, said: str) -> None:
    """The type is named, and the path to it."""
    outcome = await failed(tmp_path, body)
    assert outcome.code == "result_mismatch"
    assert said in outcome.message
    assert outcome.hint.endswith(f"in `{WHERE}`.")


async def test_the_same_value_twice_is_no_circle(tmp_path: Path) -> None:
    """Only what holds itself is."""
    assert (await done(tmp_path, "x = [1]\nreturn [x, x, {'a': x}]")).result == [[1], [1], {"a": [1]}]


async def test_too_much_is_told(tmp_path: Path) -> None:
    """With its size."""
    outcome = await failed(tmp_path, f"return 'x' * {RETURN_MAX}")
    assert (outcome.code, f"{RETURN_MAX + 2:,} bytes" in outcome.message) == ("too_large", True)
    assert len((await done(tmp_path, f"return 'x' * {RETURN_MAX - 2}")).result) == RETURN_MAX - 2


async def test_an_exception_shows_the_author_s_lines(sandbox: Sandbox, tmp_path: Path) -> None:
    """Neither ours, nor line numbers that are not those of the body."""
    body = "def inner(x):\n    return 1 / x\n\nprint('before')\nreturn inner(n)\n"
    outcome = await failed(tmp_path, body, sandbox, n=0)
    assert (outcome.code, outcome.message) == ("code_failed", "ZeroDivisionError: division by zero")
    assert (outcome.output, outcome.exit_code) == ("before\n", 1)
    lines = [line.strip() for line in outcome.stderr.splitlines()]
    assert lines[0] == "Traceback (most recent call last):"
    assert 'File "code", line 5, in body' in lines
    assert "return inner(n)" in lines
    assert 'File "code", line 2, in inner' in lines
    assert outcome.stderr.count("File ") == 2


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import os\nos._exit(5)", "ended with exit code 5"),
        ("import os\nos.kill(os.getpid(), 9)", "exit code 137"),
        ("def f(): f()\nf()", "RecursionError"),
        ("class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd", "Odd"),
        ("raise ValueError('x' * 9999)", "x […]"),
        ("import bot", "No module named 'bot'"),
        ("import yaml", "No module named 'yaml'"),
        ("return given", "'given' is not defined"),
    ],
)
async def test_other_ends(tmp_path: Path, body: str, said: str) -> None:
    """None is taken for a result; nor is there any package but the standard library."""
    outcome = await failed(tmp_path, body)
    assert outcome.code == "code_failed"
    assert said in outcome.message
    assert len(outcome.message) < 600


async def test_a_body_cannot_forge_what_it_does_not_return(tmp_path: Path) -> None:
    """What is left in the file counts only in our form, with the exit code that belongs to it."""
    for left in ("nonsense", "[]", '{"value": 1}', "{" * 100000):
        body = f"import os, sys\nopen(sys.argv[1], 'w').write({left!r})\nos._exit(4)"
        assert (await failed(tmp_path, body)).code == "code_failed"


async def test_its_time_is_limited(sandbox: Sandbox, tmp_path: Path) -> None:
    """What it printed before is kept."""
    outcome = await failed(tmp_path, "import time\nprint('begun', flush=True)\ntime.sleep(60)", sandbox, timeout=1)
    assert (outcome.code, outcome.output) == ("timeout", "begun\n")
    assert outcome.hint == f"Raise its `timeout` in `{WHERE}`."


async def test_its_output_is_bounded(tmp_path: Path) -> None:
    """Head and tail stay."""
    outcome = await done(tmp_path, "for i in range(300000):\n    print('line', i)")
    assert outcome.output is not None
    assert outcome.output.startswith("line 0\n")
    assert outcome.output.endswith("line 299999\n")
    assert "bytes cut" in outcome.output


async def test_the_engine_is_out_of_reach(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its variables nor its packages, nor a `PYTHON…` variable that would let them in."""
    monkeypatch.setenv("CANARY", "canary-value")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    body = "import os, sys\nreturn [sorted(os.environ), sys.path, sys.flags.isolated, sys.flags.no_site]"
    environ, path, isolated, no_site = (await done(tmp_path, body, sandbox)).result
    assert set(environ) <= {"HOME", "LANG", "NAME", "PATH", "PWD", "LC_CTYPE"}
    assert not any("site-packages" in place or place in ("", str(tmp_path)) for place in path)
    assert (isolated, no_site) == (1, 1)


async def test_the_interpreter_is_this_one(sandbox: Sandbox, tmp_path: Path) -> None:
    """So that what was compiled when the file was checked can be run."""
    outcome = await done(tmp_path, "import sys\nreturn list(sys.version_info[:3])", sandbox)
    assert outcome.result == list(sys.version_info[:3])

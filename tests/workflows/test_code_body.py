"""Whether a text is the body of a function, and where it is not."""

from __future__ import annotations

import threading
import warnings

import pytest

from bot.workflows.code_body import BodyFault, cannot_name_variable, check_body


@pytest.mark.parametrize(
    "body",
    [
        "return 1",
        "# said first\nif a:\n    return b\nreturn None\n",
        "import json\n\ndef inner(x):\n    nonlocal_ = 1\n    return x\n\nreturn json.dumps([inner(i) for i in a])",
        "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return 1\nreturn asyncio.run(main())",
        "def numbers():\n    yield 1\nreturn list(numbers())",
        "def outer():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n    inner()\nreturn outer()",
        'text = """\nline\n  indented\n"""\nreturn text',
        "'only a docstring'",
    ],
)
def test_bodies(body: str) -> None:
    """Everything that may stand below `def`."""
    assert check_body(body, ("a", "b")) is None


@pytest.mark.parametrize(
    ("body", "line", "column", "said"),
    [
        ("", 1, 1, "the body is empty"),
        ("# nothing\n", 1, 1, "the body is empty"),
        ("x = 1\nreturn x +\n", 2, 0, "invalid syntax"),
        ("x = 1\n  y = 2\n", 2, 0, "unexpected indent"),
        ("ä = 'é' if\n", 1, 0, ""),
        ("x = 1\né = await x\n", 2, 5, "`await` needs"),
        ("ä = 'é' $\n", 1, 9, ""),
        ("async with a:\n    pass\n", 1, 1, "`async with` needs"),
        ("async for i in a:\n    pass\n", 1, 1, "`async for` needs"),
        ("x = [(yield i) for i in a]", 1, 7, "`yield`"),
        ("if a:\n    yield from b\n", 2, 5, "`yield`"),
        ("if a:\n    global b\n", 2, 5, "`global` means nothing"),
        ("nonlocal b\n", 1, 1, "`nonlocal` means nothing"),
        ("from os import *\n", 1, 0, "import *"),
        ("x = 1\ns = 'ü'; from os import *\n", 2, 0, "import *"),
        ("from __future__ import annotations\n", 1, 0, "__future__"),
        ("x = 1\nbreak\n", 2, 0, "'break' outside loop"),
        ("a\0b", 1, 1, "null bytes"),
        ("x = '\ud800'", 1, 1, "cannot be read"),
        ("(" * 5000, 1, 0, ""),
        ("-" * 60_000 + "1", 1, 1, "nested too deep"),
    ],
)
def test_faults(body: str, line: int, column: int, said: str) -> None:
    """Each with its place as an editor counts it; columns of the compiler's own (0 here) differ by version."""
    fault = check_body(body, ("a", "b"))
    assert fault is not None
    assert said in fault.message
    assert (fault.line, column and fault.column) == (line, column)
    assert body[: fault.offset].count("\n") == line - 1


def test_the_offset_is_that_of_the_character() -> None:
    """Also behind characters of several bytes, and of any line break that Python knows."""
    body = "ä = 1\r\nö = 2\rü = await ä\n"
    fault = check_body(body)
    assert fault is not None
    assert (fault.line, fault.column) == (3, 5)
    assert body[fault.offset :].startswith("await")


def test_an_input_cannot_be_made_global() -> None:
    """What names an input is told as Python tells it."""
    fault = check_body("def f():\n    global a\nreturn a", ("a",))
    assert fault is None
    fault = check_body("def a(a, a): pass", ("a",))
    assert isinstance(fault, BodyFault)
    assert "duplicate argument" in fault.message


def test_warnings_are_none_of_our_business() -> None:
    """Bodies that Python warns of are taken, without a word, in threads too."""
    bodies = ["return '\\d'", "return a is 1", "assert (a, 'b')"]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found: list[BodyFault | None] = []

        def look(body: str) -> None:
            found.append(check_body(body, ("a",)))

        threads = [threading.Thread(target=look, args=(body,)) for body in bodies * 5]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [None] * 15
    assert told == []


def test_words_of_python() -> None:
    """No input can be called as one."""
    assert [name for name in ("from", "class", "lambda", "match", "spec") if cannot_name_variable(name)] == [
        "from",
        "class",
        "lambda",
    ]

"""The body of a `code` step: whether it is one, told where the author wrote it.

A body is what stands below `def`: `return` is allowed, and its inputs are its parameters. It is put into a function as
a tree, never as text, so that its lines keep their numbers and texts of several lines keep their spaces. It is compiled
here by the Python that will run it, and never run here.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from threading import Lock

#: the body's scope ends where one of these begins
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)

_ASYNC = "`{}` needs an asynchronous function, and a body is none"
_ASYNC_HINT = "define `async def main():` in it and `return asyncio.run(main())`"
_YIELD = ("`yield` would make a generator of the body", "collect the values in a list and return it")
_TOLD: dict[type[ast.AST], tuple[str, str]] = {
    ast.Await: (_ASYNC.format("await"), _ASYNC_HINT),
    ast.AsyncFor: (_ASYNC.format("async for"), _ASYNC_HINT),
    ast.AsyncWith: (_ASYNC.format("async with"), _ASYNC_HINT),
    ast.Yield: _YIELD,
    ast.YieldFrom: _YIELD,
    ast.Global: ("`global` means nothing in a body: its names are its own", "remove the line"),
    ast.Nonlocal: ("`nonlocal` means nothing in a body: there is nothing around it", "remove the line"),
}

_MEND = "mend it there: the body is Python, as the inside of a function"
_NEWLINE = re.compile(r"\r\n|\r|\n")

#: filters of warnings belong to the whole process
_quiet = Lock()


@dataclass(frozen=True, slots=True)
class BodyFault:
    """Where a body is at fault: line and column from 1, and the offset of that character in the text."""

    line: int
    column: int
    offset: int
    message: str
    hint: str = ""


def check_body(text: str, inputs: Iterable[str] = ()) -> BodyFault | None:
    """The first fault of a body whose variables are `inputs`; None where it can be run. Never raises."""
    try:
        with _quiet, warnings.catch_warnings():
            # `"\\d"` and the like are the author's business, and no fault
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            if not tree.body:
                return _fault(text, 1, 1, "the body is empty", "write what the function does, as `return 1`")
            if (odd := next(_unfit(tree.body), None)) is not None:
                return _fault(text, odd.lineno, _characters(text, odd.lineno, odd.col_offset), *_TOLD[type(odd)])
            compile(as_function(tree, inputs), "<code>", "exec", dont_inherit=True)
    except SyntaxError as error:
        line = error.lineno or 1
        column = (error.offset or 1) - 1
        # the parser counts characters, what comes after it counts bytes (UTF-8)
        compiled = error.text is None
        return _fault(text, line, _characters(text, line, column) if compiled else column + 1, f"{error.msg}", _MEND)
    except (RecursionError, MemoryError, OverflowError):
        return _fault(text, 1, 1, "the body is nested too deep to be compiled", "take it apart")
    except ValueError as error:  # a NUL character, a lone surrogate
        return _fault(text, 1, 1, f"the body cannot be read as Python: {error}", _MEND)
    return None


def as_function(tree: ast.Module, inputs: Iterable[str]) -> ast.Module:
    """The body as the one function `body` of a module; its lines keep their numbers."""
    outer = ast.parse("def body(): pass")
    function = outer.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.args.kwonlyargs = [ast.arg(name, None, lineno=1, col_offset=0) for name in inputs]
    function.args.kw_defaults = [None] * len(function.args.kwonlyargs)
    function.body = tree.body
    return outer


def cannot_name_variable(name: str) -> bool:
    """Whether Python has the word for itself, so that no input of a body can be called so."""
    return keyword.iskeyword(name)


def _unfit(body: Iterable[ast.AST]) -> Iterator[ast.expr | ast.stmt]:
    """What of the body's own scope cannot be in it, in the order of the text."""
    waiting = list(body)[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.expr, ast.stmt)) and type(node) in _TOLD:
            yield node
        if not isinstance(node, _SCOPES):
            waiting += list(ast.iter_child_nodes(node))[::-1]


def _fault(text: str, line: int, column: int, message: str, hint: str) -> BodyFault:
    starts = _starts(text)
    offset = min(starts[min(line, len(starts)) - 1] + max(column, 1) - 1, len(text))
    return BodyFault(line, max(column, 1), offset, message, hint)


def _characters(text: str, line: int, at: int) -> int:
    """The column of a byte of a line, from 1."""
    starts = _starts(text)
    source = text[starts[min(line, len(starts)) - 1] :]
    return len(source.encode("utf-8", "replace")[:at].decode("utf-8", "ignore")) + 1


def _starts(text: str) -> list[int]:
    """Where the lines begin, as Python counts them."""
    return [0, *(found.end() for found in _NEWLINE.finditer(text))]

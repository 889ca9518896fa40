"""Runs the body of a `code` step. A program of its own in the sandbox: imports nothing of ours.

`python -I -S -c PROGRAM RESULT`. On standard input comes `{body, inputs, name, most}` as JSON; the body finds it at its
end. Into the file RESULT goes `{"value": …}`, or `{"mismatch": {path, found}}` for what is no JSON, `{"large": bytes}`,
or `{"raised": {message, traceback}}`. What the body prints goes where a program's output goes.
"""

from __future__ import annotations

import ast
import json
import linecache
import sys
import traceback
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    given = json.loads(sys.stdin.buffer.read())
    file, text = given["name"], given["body"]
    # for the lines of a traceback: without a loader and a time it is never looked for on the disk
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    told: dict[str, Any]
    try:
        value = function(text, given["inputs"], file)(**given["inputs"])
        told = outcome(value, given["most"])
    except BaseException as error:  # noqa: BLE001  # SystemExit and KeyboardInterrupt are no way to end a body either
        told = {"raised": raised(error, file)}
    with open(sys.argv[1], "w", encoding="ascii") as result:
        json.dump(told, result)
    if "raised" in told:
        sys.stderr.write(told["raised"]["traceback"])
        sys.exit(1)


def function(text: str, inputs: Any, file: str) -> Any:
    """The body as a function whose parameters are the inputs; its lines are those of the text."""
    tree = ast.parse(text, file)
    outer = ast.parse("def body(): pass")
    made: Any = outer.body[0]
    names = [ast.arg(arg=name, lineno=1, col_offset=0) for name in inputs]
    made.args.kwonlyargs, made.args.kw_defaults = names, [None] * len(names)
    made.body = tree.body
    module = types.ModuleType("__main__")
    # classes that the body defines look for their module
    sys.modules["__main__"] = module
    exec(compile(outer, file, "exec", dont_inherit=True), module.__dict__)  # noqa: S102  # what this program is for
    return module.__dict__.pop("body")


def outcome(value: Any, most: int) -> dict[str, Any]:
    found = odd(value)
    if found is not None:
        return {"mismatch": {"path": found[0], "found": found[1]}}
    try:
        size = len(json.dumps(value, allow_nan=False))
    except (ValueError, RecursionError) as error:
        return {"mismatch": {"path": "", "found": str(error)}}
    return {"large": size} if size > most else {"value": value}


def odd(value: Any) -> tuple[str, str] | None:
    """Path and type of the first part that JSON has no form for."""
    waiting: list[tuple[str, Any, tuple[int, ...]]] = [("", value, ())]
    while waiting:
        path, part, around = waiting.pop()
        if part is None or isinstance(part, (str, int)):
            continue
        if isinstance(part, float):
            if part - part != 0:
                return path, f"the number {part}"
        elif not isinstance(part, (dict, list, tuple)):
            return path, f"`{type(part).__name__}`"
        elif id(part) in around:
            return path, f"a `{type(part).__name__}` that holds itself"
        elif len(around) >= 200:
            return path[:100], "values nested more than 200 levels deep"
        elif isinstance(part, dict):
            for key in part:
                if not isinstance(key, str):
                    return path, f"a key of type `{type(key).__name__}`"
            inner = (*around, id(part))
            waiting += [(f"{path}.{key}" if path else key, each, inner) for key, each in part.items()][::-1]
        else:
            inner = (*around, id(part))
            waiting += [(f"{path}[{index}]", each, inner) for index, each in enumerate(part)][::-1]
    return None


def raised(error: BaseException, file: str) -> dict[str, str]:
    """Message and traceback without the frames of this program."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != file:
        trace = trace.tb_next
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  # whatever an author's class does
        message = ""
    name = type(error).__name__
    said = "".join(traceback.format_exception(type(error), error, trace))
    return {"message": f"{name}: {message}" if message else name, "traceback": said[-65536:]}


if __name__ == "__main__":
    main()

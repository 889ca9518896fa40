"""The YAML parser's messages in words that say what to do."""

from __future__ import annotations

from typing import Any

from bot.workflows.mark import Mark

_HINTS = (
    ("mapping values are not allowed", "text that holds `: ` needs quotes; else look at the indentation of this line"),
    ("could not find expected ':'", "a key needs a colon behind it; text of several lines begins with `|`"),
    ("did not find expected key", "keys of one mapping begin in the same column; look at this line's indentation"),
    ("did not find expected '-' indicator", "entries of one list begin in the same column, each with `- `"),
    ("did not find expected ',' or", "a `[` or `{` is not closed, or text inside it needs quotes"),
    ("block sequence entries are not allowed", "a list begins on a line of its own, below its key"),
    ("unknown escape", "in double quotes a backslash starts an escape; use single quotes or double the backslash"),
    ("found undefined tag handle", "text that begins with `!` needs quotes"),
    ("incompatible YAML document", "remove the `%YAML` line"),
)


def explain(file: str, text: str, error: Any) -> tuple[Mark, str, str, str]:
    """Place, code, message and hint for an error that the parser raised."""
    problem = str(getattr(error, "problem", None) or "the file is not YAML")
    at = getattr(error, "problem_mark", None)
    if at is None:
        return Mark(file), "yaml_syntax", problem, "check the file with a YAML editor"
    opened = getattr(error, "context_mark", None)
    if "unexpected end of stream" in problem and opened is not None:
        mark = Mark(file, opened.line + 1, opened.column + 1)
        return mark, "yaml_syntax", "the quote that opens here is never closed", "close it, or use `|` for long text"
    mark = Mark(file, at.line + 1, at.column + 1)
    lines = text.splitlines()
    line = lines[at.line] if at.line < len(lines) else ""
    indent = line[: len(line) - len(line.lstrip())]
    if "\t" in indent:
        column = indent.index("\t") + 1
        return Mark(file, mark.line, column), "yaml_tab", "a tab cannot indent YAML", "indent with spaces, two a level"
    character = line[at.column : at.column + 1]
    if "cannot start any token" in problem and character.strip():
        return mark, "yaml_syntax", f"text cannot begin with `{character}` here", "put the text in quotes"
    if "maximum nesting depth" in problem:
        return mark, "yaml_depth", "values are nested far too deep", "nest less; a workflow needs about ten levels"
    hint = next((hint for part, hint in _HINTS if part in problem), "look at indentation and quotes near this place")
    return mark, "yaml_syntax", problem, hint

"""Whether the next argument of a program is code: then it may not come from anybody but the author, quoted or not."""

from __future__ import annotations

import re

#: builtins that run what they are given, or evaluate it as arithmetic, or set variables that decide what runs
_EVALUATING = frozenset(
    {"eval", "source", ".", "trap", "let", "[[", "alias", "declare", "typeset", "local", "export", "readonly"}
    | {"unset", "read", "mapfile", "readarray", "getopts"}
)
#: builtins that evaluate the name of a variable behind an option of theirs (`test -v 'a[$(id)]'`)
_NAMING = {"[": "-v", "test": "-v", "printf": "-v", "wait": "-p"}
#: programs whose next word is another program
_PREFIXES = frozenset({"exec", "command", "builtin", "env", "nohup", "sudo", "xargs", "nice", "setsid"})
#: interpreters, and the option behind which their code stands
_INTERPRETERS = (
    (re.compile(r"(?:ba|da|z|k|a|fi)?sh"), re.compile(r"-[A-Za-z]*c[A-Za-z]*")),
    (re.compile(r"python[0-9.]*"), re.compile(r"-[A-Za-z]*c")),
    (re.compile(r"perl|ruby|lua"), re.compile(r"-[A-Za-z]*[eE]")),
    (re.compile(r"node|nodejs|deno|bun"), re.compile(r"-[A-Za-z]*[ep]|--eval|--print|eval")),
    (re.compile(r"php"), re.compile(r"-[A-Za-z]*[rBRE]")),
)
#: programs whose first operand is code
_SCRIPTED = frozenset({"awk", "gawk", "mawk", "sed"})


def code_argument(words: list[str]) -> str:
    """Why the word behind `words` (the words of a simple command so far) would be code; empty if it is data."""
    names = [word.rsplit("/", 1)[-1] for word in words]
    if all(name in _PREFIXES for name in names):
        return "stands where the name of a command belongs"
    first = names[0]
    if first in _EVALUATING or _NAMING.get(first) == words[-1]:
        return f"would be evaluated by `{first}`"
    for index, name in enumerate(names):
        if _takes_code(name, words[index + 1 :]):
            return f"would be code for `{name}`"
    return ""


def _takes_code(name: str, behind: list[str]) -> bool:
    if name in _SCRIPTED:
        return all(word.startswith("-") for word in behind)
    for program, option in _INTERPRETERS:
        if program.fullmatch(name):
            places = [index for index, word in enumerate(behind) if option.fullmatch(word)]
            # what follows the code is data again: `bash -c 'echo "$1"' name VALUE`
            return bool(places) and all(word.startswith("-") for word in behind[places[0] + 1 :])
    return False

"""Whether the next argument of a program is code: then it may not come from anybody but the author, quoted or not."""

from __future__ import annotations

import re

#: builtins that run what they are given, or evaluate it as arithmetic, or set variables that decide what runs
_EVALUATING = frozenset(
    {"eval", "source", ".", "trap", "let", "[[", "alias", "declare", "typeset", "local", "export", "readonly"}
    | {"unset", "read", "mapfile", "readarray", "getopts", "hash", "enable", "bind", "complete", "compgen", "compopt"}
    | {"fc", "jobs"}
)
#: programs whose operands are joined to a command line
_JOINING = frozenset({"ssh", "rsh", "su", "watch", "parallel", "script"})
#: programs to which an option gives the name of a variable that they evaluate (`test -v 'a[$(id)]'`), or code
_NAMING = {
    "[": re.compile(r"-[vR]"),
    "test": re.compile(r"-[vR]"),
    "printf": re.compile(r"-v"),
    "wait": re.compile(r"-[A-Za-z]*p"),
    "git": re.compile(r"-c"),
    "flock": re.compile(r"-[A-Za-z]*c|--command"),
}
#: programs that start another one, with their options that take no value; any other option is taken to have one
_PREFIXES = {
    "builtin": "",
    "chroot": "",
    "command": "p",
    "doas": "ns",
    "env": "i0v",
    "exec": "cl",
    "flock": "neosux",
    "ionice": "t",
    "nice": "",
    "nohup": "",
    "setsid": "cfw",
    "stdbuf": "",
    "sudo": "nEHSkbA",
    "time": "pv",
    "timeout": "fv",
    "xargs": "0rtxpo",
}
#: how many operands stand in front of the program's name
_OPERANDS = {"chroot": 1, "flock": 1, "timeout": 1}
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=", re.DOTALL)
_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
#: interpreters, and the option behind which their code stands
_INTERPRETERS = (
    (re.compile(r"(?:ba|da|z|k|a|fi)?sh"), re.compile(r"-[A-Za-z]*c[A-Za-z]*")),
    (re.compile(r"python[0-9.]*"), re.compile(r"-[A-Za-z]*c")),
    (re.compile(r"perl|ruby|lua"), re.compile(r"-[A-Za-z0-9]*[eE]")),
    (re.compile(r"node|nodejs|deno|bun"), re.compile(r"-[A-Za-z]*[ep]|--eval|--print|eval")),
    (re.compile(r"php"), re.compile(r"-[A-Za-z]*[rBRE]")),
)
#: programs whose first operand is code, unless an option brings it; with their options that take a value
_SCRIPTED = {"awk": "Fv", "gawk": "Fv", "mawk": "Fv", "nawk": "Fv", "sed": "l"}
_SCRIPT_OPTION = re.compile(r"-[A-Za-z]*e|--expression|--source")
#: a word of which bash makes others: a variable's or a command's text, a pattern, alternatives
_UNKNOWN = re.compile(r"[$`*?(]|\{.*(?:,|\.\.).*\}|.\[", re.DOTALL)


def code_argument(words: list[str]) -> str:
    """Why the word behind `words` (the words of a simple command so far) would be code; empty if it is data.

    Where a word is not known before bash has read it, it has `$` in it.
    """
    names = [word.rsplit("/", 1)[-1] for word in words]
    begin = _program(names)
    if begin is None:
        return ""
    if begin >= len(names):
        return "stands where the name of a command belongs"
    # of what a prefix takes for itself nothing is certain: whatever stands there may be the program
    prefixed = next((name for name in names[:begin] if name in _EVALUATING), "")
    first = prefixed or names[begin]
    # a variable without quotes may be no word at all
    last = next((word for word in reversed(words) if "$" not in word), "")
    if first in _EVALUATING or (first in _NAMING and _NAMING[first].fullmatch(last)):
        return f"would be evaluated by `{first}`"
    if first in _JOINING:
        return f"would be code for `{first}`"
    if _UNKNOWN.search(words[begin]):
        return "is given to a command whose name is not certain"
    options = _last_options(words)
    for index, name in enumerate(names):
        if (name in _SCRIPTED and _script_is_next(_SCRIPTED[name], words[index + 1 :])) or _takes_code(name, options):
            return f"would be code for `{name}`"
        if name == "find" and (places := [at for at, word in enumerate(words) if word in _EXEC and at > index]):
            return code_argument(words[places[-1] + 1 :])
    return ""


def _program(names: list[str]) -> int | None:
    """The index of the program's name behind prefixes and assignments; None where the value is a name to look up."""
    at = 0
    bare, operands = "", 0  # `time` is a keyword and its options are not
    while at < len(names):
        name = names[at]
        if name.startswith("-") and len(name) > 1:
            if bare == "p" and name in ("-v", "-V", "-pv", "-pV"):
                return None
            takes = name != "--" and "=" not in name and at > 0 and any(one not in bare for one in name[1:])
            at += 2 if takes else 1
        elif _ASSIGNMENT.match(name):
            at += 1
        elif operands:
            operands -= 1
            at += 1
        elif name in _PREFIXES:
            bare, operands = _PREFIXES[name], _OPERANDS.get(name, 0)
            at += 1
        else:
            return at
    return at


def _last_options(words: list[str]) -> list[str]:
    """The options at the end of `words`, and the word before them, which some programs have instead of an option."""
    at = len(words) - 1
    while at > 0 and words[at].startswith("-"):
        at -= 1
    return words[at:]


def _takes_code(name: str, options: list[str]) -> bool:
    """Whether one of the last options says that code follows; behind the code is data: `bash -c 'echo "$1"' x VALUE`"""
    for program, option in _INTERPRETERS:
        if program.fullmatch(name):
            return any(option.fullmatch(word) for word in options)
    return False


def _script_is_next(valued: str, behind: list[str]) -> bool:
    """Whether the next word of `sed` or `awk` is its script; `valued` are the options that take another word."""
    if behind and _SCRIPT_OPTION.fullmatch(behind[-1]):
        return True
    at = 0
    while at < len(behind) and behind[at].startswith("-"):
        at += 2 if len(behind[at]) == 2 and behind[at][1] in valued else 1
    return at >= len(behind)

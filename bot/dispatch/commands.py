"""What a mention asks for: a built-in, an agent or workflow by name, or free text for the default."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bot.dispatch import mentions
from bot.dispatch.builtins import BUILTINS, Builtin
from bot.dispatch.inputs import meant_param
from bot.workflows import Configuration
from bot.workflows.workflow import REQUEST_WORDS

_FIRST_WORD = re.compile(r"\s*(\S+)")
_SENTENCE_SIGNS = ",:;.!?"
_QUESTION_MARKS = ("?", "？")
# one `key=value` word; quotes as people and their phones type them
_PARAM = re.compile(
    r"""\s*(?P<key>[A-Za-z_][\w-]*)=(?:
        "(?P<double>(?:[^"\\]|\\.)*)" | '(?P<single>(?:[^'\\]|\\.)*)' | “(?P<curly>[^“”]*)” | (?P<bare>(?!["'“])\S*)
    )(?=\s|\Z)""",
    re.VERBOSE | re.DOTALL,
)
_SUGGESTED = re.compile(r"[A-Za-z][\w-]{3,63}")


@dataclass(frozen=True, slots=True)
class Command:
    """One request, read. `name` is the built-in, agent or workflow; for the kind `default`, the default's name.

    `text` is the free text behind command and params, verbatim. `suggestion` is a known command that a first word which
    is none was probably meant to be: a hint, nothing more.
    """

    kind: Literal["builtin", "named", "default"]
    name: str
    params: dict[str, str] = field(default_factory=dict)
    text: str = ""
    suggestion: str | None = None


def parse(
    text: str,
    *,
    names: Mapping[str, Collection[str]],
    default: str,
    table: Sequence[Builtin] = BUILTINS,
    signed: Collection[str] = (),
    asked: bool = False,
) -> Command:
    """Read the text of a mention. `asked`: people are asked something in its thread, or were until a short time ago.

    `names` are the agents and workflows, each with the keys that it takes as `key=value`. A built-in counts only if
    the whole first line fits its usage; then a name; else everything is free text for `default`. Leading `key=value`
    words are params as long as their key is declared, or sets the request's own budget; the first other word begins the
    free text. For those of `signed`,
    which declare their inputs, every key is taken: whoever binds them says which are unknown, as of one that is close
    to a declared key. Never raises.
    """
    builtin = _builtin(text, table, asked)
    if builtin:
        return builtin
    known = {name.casefold(): name for name in names}
    first = _FIRST_WORD.match(text)
    word = first[1] if first else ""
    name = known.get(word.casefold()) or known.get(word.rstrip(_SENTENCE_SIGNS).casefold())
    if first and name is not None:
        params, rest = _params(text[first.end() :], None if name in signed else {*names[name], *REQUEST_WORDS})
        return Command("named", name, params, rest)
    params, rest = _params(text, None if default in signed else {*names.get(default, ()), *REQUEST_WORDS})
    return Command("default", default, params, rest, _suggest(text, word, known.values(), table))


def _builtin(text: str, table: Sequence[Builtin], asked: bool) -> Command | None:
    line, _, below = text.strip().partition("\n")
    for candidate in (line.strip(), line.strip().rstrip(".!? ")):
        for builtin in table:
            params = builtin.fit(candidate)
            if params is not None:
                if "run" in params:
                    params["run"] = params["run"].lower()
                free = "\n".join((params.pop("text", ""), below)).strip()
                if free and builtin.answers and not asked and "." not in params.get("gate", ""):
                    return None  # nobody was asked: these are words to somebody else
                if builtin.answers and not free and line.rstrip().endswith(_QUESTION_MARKS):
                    free = "?"  # a sign behind a command means nothing; behind an answer it may be doubt
                return Command("builtin", builtin.name, params, free)
    return None


#: built-ins whose words begin with a choice: an option of a gate, a command of a branch
_CHOOSING = frozenset({"answer", "try"})


def sort(command: Command) -> Hashable:
    """What a request comes to without its free text: two that are alike in it are one request in other words."""
    chosen = _FIRST_WORD.match(command.text) if command.kind == "builtin" and command.name in _CHOOSING else None
    name = "" if command.kind == "default" and command.suggestion is not None else command.name
    params = tuple(sorted(command.params.items()))
    return command.kind == "builtin", name, params, chosen[1].casefold() if chosen else ""


def names_of(usable: Configuration) -> tuple[dict[str, tuple[str, ...]], set[str]]:
    """What a configuration offers, for `parse`: `names`, and those that are `signed`."""
    found = {name: usable.workflow_for(name) for name in usable.names()}
    names = {name: (*each.params, *each.inputs) if each else () for name, each in found.items()}
    return names, {name for name, each in found.items() if each is not None and each.inputs}


def key_values(text: str) -> tuple[dict[str, str], str]:
    """The leading `key=value` words of a text, whatever the keys, and what is left."""
    return _params(text, None)


def _params(text: str, declared: Collection[str] | None) -> tuple[dict[str, str], str]:
    """Leading `key=value` words with declared keys (None: any), and what is left. A key's last value counts.

    A key that is close to a declared one is taken too: whoever binds it says that there is none.
    """
    params: dict[str, str] = {}
    position = 0
    while (found := _PARAM.match(text, position)) and (
        declared is None or found["key"] in declared or meant_param(found["key"], declared)
    ):
        quoted = found["double"] if found["double"] is not None else found["single"]
        plain = found["curly"] if found["curly"] is not None else found["bare"]
        params[found["key"]] = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        position = found.end()
    return params, text[position:].strip()


def _suggest(text: str, word: str, names: Iterable[str], table: Sequence[Builtin]) -> str | None:
    """The known command that `word` is close to; its usage where a built-in stands alone and lacks its argument."""
    bare = word.rstrip(_SENTENCE_SIGNS).casefold()
    for builtin in table:
        if bare == builtin.name:
            # a sentence that begins so is free text; one word more is an argument that was got wrong
            return builtin.usage if len(text.split()) <= 2 else None
    if not _SUGGESTED.fullmatch(bare):
        return None
    known = {name.casefold(): name for name in (*(each.name for each in table), *names)}
    close = difflib.get_close_matches(bare, known, n=1, cutoff=0.75)
    return known[close[0]] if close else None


def is_builtin_only(text: str, handles: Collection[str]) -> bool:
    """Whether a comment says nothing beside built-in commands, so that agents need not see it."""
    found = mentions.find(text, handles)
    if not found or text[: found[0].start].strip():
        return False
    return all(_acts_alone(each.text) for each in found)


def _acts_alone(text: str) -> bool:
    """Whether the text of a mention is a built-in; words of an answer are somebody's, but for an option's alone."""
    if parse(text, names={}, default="", table=BUILTINS).kind == "builtin":
        return True
    answer = parse(text, names={}, default="", table=BUILTINS, asked=True)
    return answer.kind == "builtin" and len(key_values(answer.text)[1].split()) <= 1

"""Templates: `${{ namespace.path }}`, `${{ namespace.path ?? "literal" }}`, and `$${{` for a literal `${{`.

Tokens are found once, in the author's text, when the configuration is loaded; what is inserted is never looked at
again, so that no comment, answer or output can become a template. Insertion copies the value as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from bot.errors import UserError
from bot.model.ident import compact
from bot.workflows.mark import Mark
from bot.workflows.paths import MISS, resolve
from bot.workflows.shell_words import misplaced, quoted
from bot.workflows.slots import RULES, Missing, Slot, is_foreign, is_safe, reference_fault

_OPENING = re.compile(r"\$\$\{\{|\$\{\{")
_TOKEN = re.compile(
    r"""\$\{\{ \s*
        (?P<path> [A-Za-z0-9_][A-Za-z0-9_-]*+ (?: \. [A-Za-z0-9_][A-Za-z0-9_-]*+ )*+ ) \s*+
        (?: \?\? \s*
            (?P<literal> "[^"\\]*+(?:\\.[^"\\]*+)*+" | '[^']*' | -?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?
                       | true | false | null )
            \s* )?
        \}\}""",
    re.VERBOSE,
)
#: `${{` in one text; nobody reads a text with more, and each costs a look at the whole
TOKENS_MAX = 200

_SYNTAX_HINT = 'write `${{ namespace.path }}` or `${{ namespace.path ?? "text" }}`; `$${{` is a literal `${{`'

Fence = Callable[[str, str], str]


#: `NAME=$(shell …)`: a word for the shell, and code for a program that takes definitions as arguments
_DEFINITION = re.compile(r"[^=\s]*=.*[$`]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one token; `offset` counts characters of the template's text."""

    code: str
    message: str
    hint: str
    offset: int


@dataclass(frozen=True, slots=True)
class Token:
    """One reference as written. `default` counts only where `has_default`."""

    text: str
    path: tuple[str, ...]
    offset: int
    default: Any = None
    has_default: bool = False
    #: its place in the file, where it is known
    mark: Mark | None = None

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def place(self) -> str:
        """` in FILE line N`, or nothing where the place is not known."""
        return f" in {self.mark}" if self.mark is not None else ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text with every token replaced, and what is worth recording."""

    text: str
    warnings: tuple[str, ...] = ()


def as_text(value: Any) -> str:
    """A string as it is; anything else as compact JSON, None as `null`."""
    return value if isinstance(value, str) else compact(value)


@dataclass(frozen=True, slots=True)
class Template:
    """An author's text with its tokens found."""

    text: str
    slot: Slot
    parts: tuple[str | Token, ...]

    @classmethod
    def parse(
        cls,
        text: str,
        slot: Slot,
        faults: list[Fault] | None = None,
        place: Callable[[int], Mark] | None = None,
        items: Collection[str] = (),
    ) -> Template:
        """Find the tokens and check what can be checked from the text and the slot alone.

        Faults are added to `faults`; without such a list the first one is raised as `UserError`. `place` tells where an
        offset of the text stands in its file, for messages; `items` are names of elements besides `item`.
        """
        if "${{" not in text and "\0" not in text:
            return cls(text, slot, (text,) if text else ())
        found: list[Fault] = []
        parts = tuple(_split(text, slot, found, place, items))
        if slot in (Slot.COMMAND, Slot.ARGV) and not any(fault.code == "too_many" for fault in found):
            _check_words(parts, slot, found)
        if faults is not None:
            faults.extend(found)
        elif found:
            raise UserError(found[0].code, found[0].message, found[0].hint)
        return cls(text, slot, parts)

    @property
    def references(self) -> tuple[Token, ...]:
        """The tokens, in order."""
        return tuple(part for part in self.parts if isinstance(part, Token))

    def render(self, scope: Mapping[str, Any], *, fence: Fence | None = None) -> Rendered:
        """Replace every token by its value from `scope` (namespace to mapping).

        `fence` gets the name of a reference and a text, and wraps what is somebody else's text; the engine's own values
        and the author's literals stay bare. Raises `UserError` (`template_undefined`, `command_value`).
        """
        warnings: list[str] = []
        out = [part if isinstance(part, str) else self._insert(part, scope, fence, warnings) for part in self.parts]
        return Rendered("".join(out), tuple(warnings))

    def _insert(self, token: Token, scope: Mapping[str, Any], fence: Fence | None, warnings: list[str]) -> str:
        rule = RULES[self.slot]
        value = resolve(scope, token.path)
        foreign = is_foreign(token.path)
        if rule.safe_only and not is_safe(token.path):
            # refused at load; should one arrive all the same, nothing of it may reach a shell
            warnings.append(f"`{token.name}` is not allowed in {rule.what}; nothing was inserted")
            return self._word(token, "")
        if token.path == ("trigger", "text") and isinstance(value, str) and not value.strip():
            value = MISS
        if value is MISS:
            if token.has_default:
                value, foreign = token.default, False
            elif rule.missing is Missing.FAIL:
                raise self._undefined(token)
            else:
                kept = rule.missing is Missing.KEEP
                warnings.append(f"`{token.name}` has no value; " + ("it stays as written" if kept else "it is empty"))
                return token.text if kept else self._word(token, "")
        text = as_text(value)
        if self.slot in (Slot.COMMAND, Slot.ARGV, Slot.ENVIRONMENT):
            return self._word(token, text)
        return fence(token.name, text) if fence is not None and foreign else text

    def _word(self, token: Token, text: str) -> str:
        """The value as the system can take it: in a command as one quoted word."""
        reason = ""
        if "\0" in text:
            reason = "holds a NUL character"
        elif not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            reason = "holds half of a surrogate pair"
        elif text.startswith("-") and self.slot is not Slot.ENVIRONMENT:
            reason = "begins with `-` and would be read as an option"
        elif self.slot is not Slot.ENVIRONMENT and _DEFINITION.match(text):
            reason = "defines a variable with code in it, which `make` would run"
        if reason:
            message = f"the value of `{token.name}`{token.place} {reason}"
            raise UserError("command_value", message, "pass it through `env:`, or give another value")
        return quoted(text) if self.slot is Slot.COMMAND else text

    def _undefined(self, token: Token) -> UserError:
        hint = f'add an upstream step that gives it, or a default: `${{{{ {token.name} ?? "…" }}}}`'
        return UserError("template_undefined", f"`{token.name}`{token.place} has no value", hint)


def _split(
    text: str,
    slot: Slot,
    faults: list[Fault],
    place: Callable[[int], Mark] | None = None,
    items: Collection[str] = (),
) -> list[str | Token]:
    parts: list[str | Token] = []
    literal: list[str] = []
    position = 0
    seen = 0
    while (opening := _OPENING.search(text, position)) is not None:
        start = opening.start()
        literal.append(text[position:start])
        seen += 1
        if seen > TOKENS_MAX:
            message = f"this text has more than {TOKENS_MAX} templates"
            faults.append(Fault("too_many", message, "split it over several steps or files", start))
            position = start
            break
        if opening.group() == "$${{":
            # where templates are not read, the author's text stays as it is
            literal.append("$${{" if not RULES[slot].namespaces else "${{")
            position = opening.end()
            continue
        match = _TOKEN.match(text, start)
        if match is None:
            faults.append(_syntax_fault(text, start, slot))
            literal.append("${{")
            position = opening.end()
            continue
        position = match.end()
        path = tuple(match["path"].split("."))
        fault = reference_fault(("item", *path[1:]) if path[0] in items else path, slot)
        has_default, default = _literal(match["literal"])
        if fault is None and has_default is None:
            fault = "template_syntax", f"`{match['literal']}` is no JSON string", "escapes are those of JSON"
        if fault is not None:
            faults.append(Fault(*fault, start))
        if joined := "".join(literal):
            parts.append(joined)
        literal = []
        mark = place(start) if place is not None else None
        parts.append(Token(match.group(), path, start, default, bool(has_default), mark))
    literal.append(text[position:])
    if joined := "".join(literal):
        parts.append(joined)
    return parts


def _literal(text: str | None) -> tuple[bool | None, Any]:
    """Whether there is a default, and which; None for one that is malformed."""
    if text is None:
        return False, None
    if text.startswith("'"):
        return True, text[1:-1]
    try:
        return True, json.loads(text, strict=False)
    except ValueError:
        return None, None


def _syntax_fault(text: str, start: int, slot: Slot) -> Fault:
    if not RULES[slot].namespaces:
        return Fault(
            "template_slot", f"a template cannot stand in {RULES[slot].what}", "templates are not read here", start
        )
    end = text.find("}}", start)
    if end < 0:
        return Fault("template_syntax", "`${{` without `}}`", _SYNTAX_HINT, start)
    inside = " ".join(text[start + 3 : min(end, start + 400)].split())[:80]
    message = f"`{inside}` is no reference" if inside else "`${{ }}` is empty"
    return Fault("template_syntax", message, _SYNTAX_HINT, start)


def _check_words(parts: tuple[str | Token, ...], slot: Slot, faults: list[Fault]) -> None:
    tokens = [part for part in parts if isinstance(part, Token)]
    if any("\0" in part for part in parts if isinstance(part, str)):
        faults.append(Fault("command_word", "a command cannot hold a NUL character", "remove it", 0))
    elif slot is Slot.ARGV:
        if tokens and len(parts) > 1:
            hint = "make it an entry of its own, or pass it through `env:`"
            message = f"`{tokens[0].text}` is only a part of its argument"
            faults.append(Fault("command_word", message, hint, tokens[0].offset))
    else:
        text = "".join(part if isinstance(part, str) else "\0" for part in parts)
        for token, reason in zip(tokens, misplaced(text) if tokens else (), strict=True):
            if reason:
                hint = 'pass it through `env:` and write `"$NAME"`'
                faults.append(Fault("command_word", f"`{token.text}` {reason}", hint, token.offset))

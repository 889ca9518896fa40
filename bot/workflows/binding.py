"""After the shape is right: every part learns where it was written, and every template is parsed for its slot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from posixpath import normpath
from types import MappingProxyType
from typing import Any, TypeVar

from bot.workflows.call_steps import CodeStep
from bot.workflows.code_body import check_body
from bot.workflows.code_words import code_argument
from bot.workflows.conditions import Condition
from bot.workflows.document import Document, Path, Spot
from bot.workflows.each import Each
from bot.workflows.evidence import Export
from bot.workflows.findings import Findings, nearest
from bot.workflows.look_alike import look_alike
from bot.workflows.mark import Mark
from bot.workflows.node import Node, Place
from bot.workflows.result import Result
from bot.workflows.schema_files import compile_file
from bot.workflows.slots import RULES, Slot
from bot.workflows.template import Fault, Template, Token

V = TypeVar("V")

#: templates of one file and of the prompts it names
TOKENS_IN_FILE_MAX = 1000
#: keys of a step that are looked at once, for all elements of its `each` together
_ONCE = frozenset({"when", "each", "next", "decide", "transitions", "loop"})
#: arguments of a command that may stand before a template
ENTRIES_BEFORE_MAX = 256


def is_prompt_path(text: str) -> bool:
    """Whether a `prompt` names a file: one word that ends in `.md`."""
    return text.endswith(".md") and not any(character.isspace() for character in text)


@cache
def _fields(model: type[Node]) -> tuple[tuple[str, str, Slot], ...]:
    """Of each field: its name, its key in the YAML, and the slot that its texts are."""
    return tuple(
        (name, field.alias or name, next((one for one in field.metadata if isinstance(one, Slot)), Slot.FIXED))
        for name, field in model.model_fields.items()
    )


def _with(kept: Mapping[Place, V], place: Place, value: V) -> Mapping[Place, V]:
    """The mapping with one entry more; the empty one is shared by all mappings of the YAML."""
    if not kept:
        return {place: value}
    assert isinstance(kept, dict)  # made above
    kept[place] = value
    return kept


class Binding:
    """Binds the models of one file. `files` are all files by path; prompt paths are relative to `base`.

    `names` are what findings call files that are not the repository's own.
    """

    def __init__(
        self,
        document: Document,
        files: Mapping[str, str],
        base: str,
        findings: Findings,
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._document = document
        self._files = files
        self._names = names
        self._base = base
        self._findings = findings
        self._tokens = 0
        #: what `each` calls its element, outermost first, for the mapping being bound
        self._items: tuple[str, ...] = ()

    def bind(self, node: Node, path: Path = ()) -> None:
        """Set marks and templates of `node`, which stands at `path`, and of everything in it."""
        self._bind(node, path, self._document.spot(path))

    def _bind(self, node: Node, path: Path, spot: Spot) -> None:
        node._mark = spot.key_mark
        given = node.model_fields_set
        marks: dict[Place, Mark] = {}
        node._marks = marks
        each = getattr(node, "each", None) if "each" in given else None
        around = self._items
        within = (*around, each.name) if isinstance(each, Each) else around
        for name, key, slot in _fields(type(node)):
            if name not in given:
                continue
            inner = spot.children.get(key)
            # a short form has no keys of its own
            at, here = ((*path, key), inner) if inner is not None else (path, spot)
            marks[key,] = here.mark
            value = getattr(node, name)
            # most values are words, numbers, and nothing to look at
            if value is None or isinstance(value, (bool, int, float)):
                continue
            if slot is Slot.FIXED and isinstance(value, str) and "${{" not in value:
                continue
            self._items = around if key in _ONCE else within
            self._value(node, value, at, (key,), slot, here, marks)
        self._items = around
        if isinstance(node, (Result, Export)) and node.file is not None:
            self._schema_file(node, node.file, (*path, "schema"))
        if isinstance(node, CodeStep):
            self._body(node, (*path, "code"))

    def _value(
        self, node: Node, value: Any, at: Path, within: Place, slot: Slot, spot: Spot, marks: dict[Place, Mark]
    ) -> None:
        match value:
            case str():
                self._text(node, value, at, within, slot)
            case Node():
                node._parts = (*node._parts, value)
                self._bind(value, at, spot)
            case dict():
                for key, item in value.items():
                    here = spot.children.get(key, spot)
                    marks[*within, key] = here.mark
                    self._value(node, item, (*at, key), (*within, key), slot, here, marks)
            case tuple() | list():
                inner = Slot.ARGV if slot is Slot.COMMAND else slot
                for index, item in enumerate(value):
                    here = spot.children.get(index, spot)
                    marks[*within, index] = here.mark
                    self._value(node, item, (*at, index), (*within, index), inner, here, marks)
                if inner is Slot.ARGV:
                    self._argv(node, within, at)

    def _text(self, node: Node, text: str, at: Path, within: Place, slot: Slot) -> None:
        if slot is Slot.FIXED and "${{" not in text:
            return
        if self._findings.full or self._tokens > TOKENS_IN_FILE_MAX:
            return
        if slot is Slot.CONDITION:
            self._condition(node, text, at, within)
            return
        if slot is Slot.PROMPT and is_prompt_path(text):
            self._prompt_file(node, text, at, within)
            return
        place = self._document.token_marks(at, text) if "${{" in text else lambda offset: self._document.mark(at)
        self._parse(node, text, within, slot, place)

    def _parse(self, node: Node, text: str, within: Place, slot: Slot, place: Callable[[int], Mark]) -> None:
        faults: list[Fault] = []
        template = Template.parse(text, slot, faults, place, self._items)
        node._templates = _with(node._templates, within, template)
        before, self._tokens = self._tokens, self._tokens + len(template.references)
        if before <= TOKENS_IN_FILE_MAX < self._tokens:
            message = f"the file and its prompts have more than {TOKENS_IN_FILE_MAX} templates"
            self._findings.error(place(0), "too_many", message, "split the workflows over several files")
        for fault in faults:
            if self._findings.full:
                break
            self._findings.error(place(fault.offset), fault.code, fault.message, fault.hint)
        like = look_alike(text) if RULES[slot].namespaces else None
        if like is not None and not self._findings.full:
            message = f"`{like.written}` is no template, it stays as it is written"
            self._findings.warning(place(like.offset), "template_like", message, f"write `${{{{ {like.path} }}}}`")

    def _condition(self, node: Node, text: str, at: Path, within: Place) -> None:
        faults: list[Fault] = []
        place = self._document.text_marks(at, text)
        condition = Condition.parse(text, faults, place)
        if condition is not None:
            node._conditions = _with(node._conditions, within, condition)
        for fault in faults[:1]:
            self._findings.error(place(fault.offset), fault.code, fault.message, fault.hint)

    def _prompt_file(self, node: Node, text: str, at: Path, within: Place) -> None:
        found = self._file(text, at, ".md", "add the file, or write the prompt here")
        if found is None:
            return
        file, source = found
        self._parse(node, source, within, Slot.PROMPT, Mark(file).within(source))

    def _body(self, step: CodeStep, at: Path) -> None:
        """The body of a function can be compiled; a fault stands at its line and column in the file."""
        fault = check_body(step.code, step.inputs)
        if fault is not None:
            place = self._document.text_marks(at, step.code)
            self._findings.error(place(fault.offset), "code", fault.message, fault.hint)

    def _schema_file(self, result: Result | Export, text: str, at: Path) -> None:
        found = self._file(text, at, ".json", "add the file, or declare `fields` here")
        checker = compile_file(*found, self._findings) if found is not None else None
        if checker is not None:
            result.settle(checker)

    def _file(self, text: str, at: Path, ending: str, missing: str) -> tuple[str, str] | None:
        """The path and text of a file that a value names; with a finding where there is none."""
        mark = self._document.mark(at)
        if text.startswith("/") or "\\" in text or ".." in text.split("/"):
            hint = "paths are relative to `.github/bot/` and stay inside it"
            self._findings.error(mark, "path_outside", f"`{text}` leads outside `.github/bot/`", hint)
            return None
        file = self._base + normpath(text)
        source = self._files.get(file)
        if source is None:
            known = [name.removeprefix(self._base) for name in self._files if name.endswith(ending)]
            self._findings.error(mark, "missing_file", f"there is no file `{file}`", nearest(text, known) or missing)
            return None
        return self._names.get(file, file), source

    def _argv(self, node: Node, within: Place, at: Path) -> None:
        """A value may be an argument, but neither the program nor the code that a program is given."""
        entries = [template for path, template in node.templates() if path[:-1] == within]
        words = [entry.text for entry in entries[:ENTRIES_BEFORE_MAX]]
        for index, template in enumerate(entries):
            if self._findings.full or len(template.parts) != 1 or not isinstance(template.parts[0], Token):
                continue
            far = index > ENTRIES_BEFORE_MAX
            reason = "stands behind more arguments than are followed" if far else code_argument(words[:index])
            if reason:
                mark = self._document.mark((*at, index))
                hint = "pass it through `env:`"
                self._findings.error(mark, "command_word", f"`{template.text}` {reason}", hint)

"""After the shape is right: every part learns where it was written, and every template is parsed for its slot."""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import normpath
from typing import Any

from bot.workflows.code_words import code_argument
from bot.workflows.conditions import Condition
from bot.workflows.findings import Findings, nearest
from bot.workflows.loader import Document, Path
from bot.workflows.mark import Mark
from bot.workflows.node import Node
from bot.workflows.result import Result
from bot.workflows.schema_files import compile_file
from bot.workflows.slots import Slot
from bot.workflows.template import Fault, Template, Token


def is_prompt_path(text: str) -> bool:
    """Whether a `prompt` names a file: one word that ends in `.md`."""
    return text.endswith(".md") and not any(character.isspace() for character in text)


class Binding:
    """Binds the models of one file. `files` are all files by path; prompt paths are relative to `base`."""

    def __init__(self, document: Document, files: Mapping[str, str], base: str, findings: Findings) -> None:
        self._document = document
        self._files = files
        self._base = base
        self._findings = findings

    def bind(self, node: Node, path: Path = ()) -> None:
        """Set marks and templates of `node`, which stands at `path`, and of everything in it."""
        node._mark = self._document.key_mark(path)
        for name, field in type(node).model_fields.items():
            if name not in node.model_fields_set:
                continue
            key = field.alias or name
            at = (*path, key)
            node._marks[key,] = self._document.mark(at)
            slot = next((one for one in field.metadata if isinstance(one, Slot)), Slot.FIXED)
            self._value(node, getattr(node, name), at, (key,), slot)
        if isinstance(node, Result) and node.file is not None:
            self._schema_file(node, node.file, (*path, "schema"))

    def _value(self, node: Node, value: Any, at: Path, within: tuple[str | int, ...], slot: Slot) -> None:
        match value:
            case Node():
                self.bind(value, at)
            case dict():
                for key, item in value.items():
                    node._marks[*within, key] = self._document.mark((*at, key))
                    self._value(node, item, (*at, key), (*within, key), slot)
            case tuple():
                inner = Slot.ARGV if slot is Slot.COMMAND else slot
                for index, item in enumerate(value):
                    node._marks[*within, index] = self._document.mark((*at, index))
                    self._value(node, item, (*at, index), (*within, index), inner)
                if inner is Slot.ARGV:
                    self._argv(node, within, at)
            case str():
                self._text(node, value, at, within, slot)

    def _text(self, node: Node, text: str, at: Path, within: tuple[str | int, ...], slot: Slot) -> None:
        if slot is Slot.CONDITION:
            self._condition(node, text, at, within)
            return
        if slot is Slot.FIXED and "${{" not in text:
            return
        if slot is Slot.PROMPT and is_prompt_path(text):
            self._prompt_file(node, text, at, within)
            return
        faults: list[Fault] = []
        node._templates[within] = Template.parse(
            text, slot, faults, lambda offset: self._document.token_mark(at, text, offset)
        )
        for fault in faults:
            mark = self._document.token_mark(at, text, fault.offset)
            self._findings.error(mark, fault.code, fault.message, fault.hint)

    def _condition(self, node: Node, text: str, at: Path, within: tuple[str | int, ...]) -> None:
        faults: list[Fault] = []
        condition = Condition.parse(text, faults, lambda offset: self._document.text_mark(at, text, offset))
        if condition is not None:
            node._conditions[within] = condition
        for fault in faults[:1]:
            mark = self._document.text_mark(at, text, fault.offset)
            self._findings.error(mark, fault.code, fault.message, fault.hint)

    def _prompt_file(self, node: Node, text: str, at: Path, within: tuple[str | int, ...]) -> None:
        found = self._file(text, at, ".md", "add the file, or write the prompt here")
        if found is None:
            return
        file, source = found
        faults: list[Fault] = []
        start = Mark(file)
        node._templates[within] = Template.parse(
            source, Slot.PROMPT, faults, lambda offset: start.moved(source, offset)
        )
        for fault in faults:
            self._findings.error(start.moved(source, fault.offset), fault.code, fault.message, fault.hint)

    def _schema_file(self, result: Result, text: str, at: Path) -> None:
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
        return file, source

    def _argv(self, node: Node, within: tuple[str | int, ...], at: Path) -> None:
        """A value may be an argument, but neither the program nor the code that a program is given."""
        entries = [template for path, template in node.templates() if path[:-1] == within]
        for index, template in enumerate(entries):
            reason = code_argument([entry.text for entry in entries[:index]])
            if reason and len(template.parts) == 1 and isinstance(template.parts[0], Token):
                mark = self._document.mark((*at, index))
                hint = "pass it through `env:`"
                self._findings.error(mark, "command_word", f"`{template.text}` {reason}", hint)

"""Schema files of results: from a file's text to a checker, every fault at its place in that file."""

from __future__ import annotations

import json
from typing import Any

from bot.workflows.document import Document, Source, Spot
from bot.workflows.findings import Findings
from bot.workflows.json_schemas import compile_schema, schema_faults
from bot.workflows.loader import load as load_yaml
from bot.workflows.mark import Mark
from bot.workflows.result_fields import ShortSchema, by_name
from bot.workflows.results import Checker
from bot.workflows.shape import validate


def compile_file(file: str, text: str, findings: Findings) -> Checker | None:
    """The checker of a JSON Schema or its short form; None with findings where the file is neither."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        mark = Mark(file, error.lineno, error.colno)
        findings.error(mark, "schema", f"the file is not JSON: {error.msg}", "check it with a JSON editor")
        return None
    except (ValueError, RecursionError):
        findings.error(Mark(file), "schema", "the file holds what cannot be read as JSON", "nest less, write less")
        return None
    document = _document(file, text, data)
    if isinstance(data, dict) and "schemaVersion" in data:
        short = validate(ShortSchema, document, findings)
        return None if short is None else Checker.of_fields(by_name(short.fields))
    faults = schema_faults(data)
    for path, fault in faults:
        findings.error(document.mark(path), fault.code, fault.message, fault.hint)
    return None if faults else Checker.of_schema(data, compile_schema(data))


def _document(file: str, text: str, data: Any) -> Document:
    """The data with its places. JSON is YAML but for a few escapes; where they stand, the file has one place."""
    read = load_yaml(file, text, Findings())
    root = read.root if read is not None and read.data == data else Spot(1, 1, 0, len(text), Source(file, text))
    return Document(file, text, data, root)
